//! The page of faults names tests that there are.

use std::path::Path;

#[test]
fn every_test_that_the_page_of_faults_names_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("docs/faults.md")).unwrap();
    let rows: Vec<(u32, &str)> = page
        .lines()
        .filter_map(|line| {
            let (case, rest) = line.strip_prefix("| ")?.split_once(" | ")?;
            Some((case.parse().ok()?, rest))
        })
        .collect();
    assert!(rows.iter().map(|row| row.0).eq(1..=36), "each case once, in order");
    for (case, row) in rows {
        let code = row.split('`').skip(1).step_by(2);
        let named: Vec<_> = code.filter_map(|text| text.split_once("::")).collect();
        assert!(!named.is_empty(), "case {case} names no test");
        for (file, name) in named {
            let source = std::fs::read_to_string(root.join(file)).unwrap_or_default();
            let defined = [format!("fn {name}("), format!("def {name}(")];
            assert!(defined.iter().any(|line| source.contains(line)), "case {case}: {file} has no {name}");
        }
    }
}

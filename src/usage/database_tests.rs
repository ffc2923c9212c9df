use super::*;

// A live log is read by another process in `tests/cli/usage/runtimes.rs`: in one process SQLite shares what it opened.

/// A database with one table of the numbers up to `rows`, in WAL mode; its writer is still there.
fn live(path: &Path, rows: i64) -> Connection {
    let writer = Connection::open(path).unwrap();
    writer.pragma_update(None, "journal_mode", "WAL").unwrap();
    writer.execute_batch("CREATE TABLE n (i INTEGER)").unwrap();
    for row in 0..rows {
        writer.execute("INSERT INTO n VALUES (?1)", [row]).unwrap();
    }
    writer
}

fn count(path: &Path) -> i64 {
    let mut count = 0;
    open(path)
        .unwrap()
        .each("SELECT i FROM n", &[], |row| count += i64::from(row.whole(0).is_some()))
        .unwrap();
    count
}

/// Names, sizes and contents of the files in a folder.
fn state(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.into_iter().map(|path| (path.clone(), fs::read(&path).unwrap())).collect()
}

#[test]
fn a_log_that_a_crash_left_behind_is_read_with_and_without_its_index() {
    for with_index in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        let (path, crashed) = (dir.path().join("a.db"), dir.path().join("crashed"));
        let writer = live(&path, 3);
        fs::create_dir(&crashed).unwrap();
        let left = crashed.join("a.db");
        for suffix in ["", "-wal", "-shm"] {
            if with_index || suffix != "-shm" {
                fs::copy(beside(&path, suffix), beside(&left, suffix)).unwrap();
            }
        }
        drop(writer);
        let before = state(&crashed);
        assert_eq!(count(&left), 3, "index: {with_index}");
        assert_eq!(state(&crashed), before);
    }
}

#[test]
fn a_database_at_rest_is_read_where_nothing_may_be_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a b?c#d%20.db");
    drop(live(&path, 3));
    let before = state(dir.path());
    assert_eq!(before.len(), 1);
    assert_eq!(count(&path), 3);
    assert_eq!(state(dir.path()), before);
}

#[test]
fn what_a_host_without_a_log_has_not_committed_is_not_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    let writer = Connection::open(&path).unwrap();
    writer
        .execute_batch("PRAGMA cache_size = 2; CREATE TABLE n (i INTEGER); INSERT INTO n VALUES (0);")
        .unwrap();
    // More than the cache holds: pages are in the file before they are committed.
    let rows = "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 9000) INSERT INTO n SELECT i FROM c";
    let before = path.metadata().unwrap().len();
    writer.execute_batch(&format!("BEGIN EXCLUSIVE; {rows}")).unwrap();
    assert!(path.metadata().unwrap().len() > before);
    let refused = open(&path).unwrap_err();
    assert!(refused.to_string().contains("locked"), "{refused}");
    writer.execute_batch("ROLLBACK").unwrap();
    assert_eq!(count(&path), 1);
}

#[test]
fn a_private_copy_is_removed() {
    let scratch = Scratch::new().unwrap();
    let dir = scratch.0.clone();
    fs::write(dir.join("x"), "x").unwrap();
    drop(scratch);
    assert!(!dir.exists());
}

#[test]
fn what_is_no_database_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    assert!(open(&path).is_err(), "absent");
    assert!(!path.exists(), "and not created");
    assert!(open(dir.path()).is_err(), "a folder");
    fs::write(&path, "no database, but long enough to look like a page of one").unwrap();
    assert!(open(&path).is_err());
    drop(fs::remove_file(&path));
    drop(live(&path, 1));
    let mut bytes = fs::read(&path).unwrap();
    bytes.truncate(bytes.len() - 2_000);
    bytes[100..].fill(0xa5);
    fs::write(&path, bytes).unwrap();
    let read = open(&path).and_then(|database| database.each("SELECT i FROM n", &[], |_| ()));
    assert!(read.is_err());
}

#[test]
fn values_of_other_types_are_none() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    let writer = Connection::open(&path).unwrap();
    writer
        .execute_batch("CREATE TABLE v (a, b, c, d); INSERT INTO v VALUES (NULL, 'text', 1.5, x'ff'), (-1, 7, 1e300, 'x')")
        .unwrap();
    drop(writer);
    let mut seen = vec![];
    let take = |row: Row<'_, '_>| seen.push([0, 1, 2, 3].map(|at| (row.whole(at), row.count(at))));
    open(&path).unwrap().each("SELECT a, b, c, d FROM v", &[], take).unwrap();
    let none = (None, None);
    assert_eq!(
        seen,
        [[(None, Some(0)), none, none, none], [(Some(-1), None), (Some(7), Some(7)), none, none]]
    );
}

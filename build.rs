//! Lists what `config/hosts` holds, so that a host is added by adding its file. TOML is for people: the program embeds the
//! files as JSON, which it reads anyway, and in every hook.

#![expect(clippy::disallowed_methods, reason = "the environment of a build, not of a run")]

use serde_json::Value;
use std::env;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("config/hosts");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut names = vec![];
    for item in fs::read_dir(&folder)? {
        let name = item?.file_name().to_string_lossy().into_owned();
        names.extend(name.strip_suffix(".toml").map(str::to_owned));
    }
    names.sort();
    let mut list = "&[".to_owned();
    for name in names {
        write!(list, "({name:?}, {:?}), ", json(&folder.join(format!("{name}.toml")))?)?;
    }
    list.push(']');
    fs::write(Path::new(&env::var("OUT_DIR")?).join("hosts.rs"), list)?;
    Ok(())
}

/// A file of TOML as JSON.
fn json(file: &Path) -> Result<String, Box<dyn Error>> {
    println!("cargo::rerun-if-changed={}", file.display());
    let read: Value = toml::from_str(&fs::read_to_string(file)?)
        .map_err(|error| format!("{}: {}", file.display(), error))?;
    Ok(read.to_string())
}

//! Parsing and trust, on real files.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use tempfile::TempDir;

use super::*;

fn write(path: &Path, text: &str, mode: u32) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn untrusted(path: &Path) -> String {
    match Conf::open(path) {
        Err(ConfError::Untrusted { reason, .. }) => reason,
        other => panic!("{other:?}"),
    }
}

/// A workspace and a home, each with room for a conf.
struct Places {
    dir: TempDir,
}

impl Places {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn workspace(&self) -> PathBuf {
        self.dir.path().join("workspace")
    }

    fn workspace_conf(&self) -> PathBuf {
        self.workspace().join(".kontourai/telemetry-console.conf")
    }

    fn home_conf(&self) -> PathBuf {
        self.dir.path().join("home/.flow-agents/telemetry-console.conf")
    }

    fn find(&self, named: &str) -> Lookup {
        let home = self.dir.path().join("home").into_os_string();
        find(
            &Env::from_pairs([("HOME", home), ("TELEMETRY_CONFIG_FILE", named.into())]),
            &self.workspace(),
            self.dir.path(),
        )
    }
}

#[test]
fn lines_that_say_nothing_are_named_by_number_and_never_quoted() {
    let conf = Conf::parse(
        Path::new("/c"),
        b"enabled\n\nsecret-tok=\n# x=1\nconsole_tenant_id = a b \nalso secret-tok\n",
    );
    assert_eq!(conf.warnings, ["/c: unknown key, ignored: line 3", "/c: no `=`, ignored: line 1, 6"]);
    assert_eq!(conf.get("enabled"), None);
    assert_eq!(conf.get("console_tenant_id"), Some("a b"));
}

#[test]
fn the_two_url_keys_are_one_slot_and_an_empty_last_value_is_absent() {
    let conf = Conf::parse(Path::new("/c"), b"console_url=https://a\nconsole_telemetry_url=\n");
    assert_eq!(conf.get("console_url"), None);
    let conf = Conf::parse(Path::new("/c"), b"console_url=https://a");
    assert_eq!(conf.get("console_telemetry_url"), Some("https://a"));
}

#[test]
fn bytes_that_are_no_text_cost_only_their_line() {
    let conf = Conf::parse(Path::new("/c"), b"\xff\xfe=1\nconsole_tenant_id=t\n");
    assert_eq!(conf.get("console_tenant_id"), Some("t"));
}

#[test]
fn debug_shows_no_value() {
    let conf = Conf::parse(Path::new("/c"), b"console_telemetry_token=tok-123\n");
    let shown = format!("{conf:?}");
    assert!(shown.contains("console_telemetry_token") && !shown.contains("tok-123"), "{shown}");
}

#[test]
fn only_a_regular_file_of_mode_600_is_trusted() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("conf");
    write(&path, "console_tenant_id=t", 0o600);
    assert_eq!(Conf::open(&path).unwrap().get("console_tenant_id"), Some("t"));
    for (mode, shown) in [(0o400, "400"), (0o640, "640"), (0o700, "700"), (0o4600, "4600")] {
        write(&path, "console_tenant_id=t", 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(untrusted(&path), format!("its mode is {shown}, not 600"));
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();

    let link = dir.path().join("link");
    symlink(&path, &link).unwrap();
    assert_eq!(untrusted(&link), "it is a symlink");
    let dangling = dir.path().join("dangling");
    symlink(dir.path().join("nothing"), &dangling).unwrap();
    assert_eq!(untrusted(&dangling), "it is a symlink");
    assert_eq!(untrusted(dir.path()), "it is not a regular file");
    assert_eq!(Conf::open(&dir.path().join("none")), Err(ConfError::Absent(dir.path().join("none"))));
}

#[test]
fn a_fifo_is_refused_without_waiting_for_its_writer() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("fifo");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    assert_eq!(untrusted(&path), "it is not a regular file");
}

#[test]
fn a_file_too_large_for_a_conf_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("conf");
    write(&path, &"#".repeat(64 * 1024 + 1), 0o600);
    assert_eq!(untrusted(&path), "it is larger than 65536 bytes");
}

#[test]
fn the_workspace_goes_before_the_home() {
    let places = Places::new();
    assert_eq!(places.find(""), Lookup::default());
    write(&places.home_conf(), "console_tenant_id=home", 0o600);
    assert_eq!(places.find("").conf.unwrap().path(), places.home_conf());
    write(&places.workspace_conf(), "console_tenant_id=own", 0o600);
    assert_eq!(places.find("").conf.unwrap().path(), places.workspace_conf());
}

#[test]
fn an_untrusted_workspace_conf_closes_the_relay_and_hides_the_home() {
    let places = Places::new();
    write(&places.home_conf(), "console_tenant_id=home", 0o600);
    write(&places.workspace_conf(), "console_tenant_id=own", 0o644);
    let lookup = places.find("");
    assert!(lookup.closed && lookup.conf.is_none());
    let path = places.workspace_conf();
    let [warning] = lookup.warnings.as_slice() else { panic!("one warning: {:?}", lookup.warnings) };
    assert!(warning.contains(&format!("chmod 600 \"{}\"", path.display())), "{warning}");
    assert!(warning.contains("its mode is 644, not 600"), "{warning}");
}

#[test]
fn an_untrusted_home_conf_is_only_skipped() {
    let places = Places::new();
    write(&places.home_conf(), "console_tenant_id=home", 0o644);
    let lookup = places.find("");
    assert!(!lookup.closed && lookup.conf.is_none());
    assert_eq!(lookup.warnings.len(), 1);
}

#[test]
fn a_named_conf_is_the_only_one() {
    let places = Places::new();
    write(&places.workspace_conf(), "console_tenant_id=own", 0o600);
    write(&places.dir.path().join("named"), "console_tenant_id=named", 0o600);
    assert_eq!(places.find("named").conf.unwrap().get("console_tenant_id"), Some("named"));

    let missing = places.find("missing");
    assert!(missing.conf.is_none() && !missing.closed);
    assert!(missing.warnings[0].contains("does not exist"), "{:?}", missing.warnings);

    write(&places.dir.path().join("open"), "console_tenant_id=open", 0o644);
    let open = places.find("open");
    assert!(open.conf.is_none() && open.closed);
}

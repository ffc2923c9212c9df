//! `tally usage`: exact usage of transcripts found under a home, or of the named files.

use super::Context;
use super::failure::Failure;
use super::progress::Progress;
use super::verb::Does::Run;
use super::verb::{Given, Kind, Verb, flag, option, place};
use crate::pricing;
use crate::report::usage::Usage;
use crate::settings::PricingSettings;
use crate::settings::env::vars;
use crate::usage::bulk::{self, Everything};
use crate::usage::runtime::{self, Moved, Runtime, Source};
use crate::usage::walk::Walk;
use std::path::{Path, PathBuf};

pub(super) const VERB: Verb = Verb {
    name: "usage",
    about: "Add up the usage in transcripts",
    does: Run(run),
    args: &[
        flag("json", "Print the documented JSON (schemas/usage.schema.json)"),
        option("home", "DIR", Kind::Path, "Look for transcripts under this home instead of your own"),
        option("host", "H", Kind::Text, "Only transcripts of this host"),
        option("pricing", "FILE", Kind::Path, "Price by this registry instead of the configured one"),
        place("PATH", Kind::Path, "Transcripts, or folders of them; found under the home when none is named")
            .many(),
    ],
};

/// Work on more bytes than this is shown as it goes.
const LONG_WORK: u64 = 64 << 20;

fn run(given: &Given<'_>, context: &mut Context<'_>) -> Result<u8, Failure> {
    let only = match given.text("host") {
        None => None,
        Some(host) => Some(Runtime::of_host(host).ok_or_else(|| {
            let known = Runtime::ALL.map(Runtime::host).join(", ");
            Failure::Usage(format!("unknown host {host:?}; transcripts can be read of {known}"))
        })?),
    };
    let configured = context.settings()?.pricing;
    let named = given.path("pricing").map(|path| context.cwd.join(path));
    let prices = pricing::load(&PricingSettings { file: named.or(configured.file.clone()), ..configured });
    for warning in &prices.warnings {
        writeln!(context.err, "tally: {warning}")?;
    }
    let sources = sources(given, only, context)?;
    let usage = Usage::of(read_all(&sources, context.watched), &sources, &prices.registry);
    if given.flag("json") {
        serde_json::to_writer_pretty(&mut *context.out, &usage).map_err(std::io::Error::from)?;
        writeln!(context.out)?;
    } else {
        write!(context.out, "{}", usage.to_table(context.width))?;
    }
    Ok(0)
}

fn sources(given: &Given<'_>, only: Option<Runtime>, context: &Context<'_>) -> Result<Vec<Source>, Failure> {
    let paths = given.paths("PATH");
    if !paths.is_empty() {
        let mut sources = vec![];
        for path in paths.iter().map(|path| context.cwd.join(path)) {
            if !path.exists() {
                let why = format!("{}: there is no such transcript or folder", path.display());
                return Err(Failure::Failed(why));
            }
            sources.extend(named(&path, only));
        }
        return Ok(sources);
    }
    let own_home = context.env.path(&vars::HOME);
    let home = given.path("home").map(|home| context.cwd.join(home)).or(own_home.map(Path::to_path_buf));
    let home = home.ok_or_else(|| Failure::Usage("HOME is not set; name a folder with --home".to_owned()))?;
    // The variables speak of the user's own home, not of one that is named.
    let moved = if given.path("home").is_some() {
        Moved::default()
    } else {
        Moved {
            claude_config_dirs: context.env.get(&vars::CLAUDE_CONFIG_DIR),
            codex_home: context.env.path(&vars::CODEX_HOME),
            data_home: context.env.path(&vars::XDG_DATA_HOME),
        }
    };
    let runtimes = Runtime::ALL.into_iter().filter(|runtime| only.is_none_or(|only| only == *runtime));
    Ok(runtimes.flat_map(|runtime| runtime.sources(&home, moved)).collect())
}

/// What a path that was named holds. `--host` says whose it is where the path does not tell.
fn named(path: &Path, only: Option<Runtime>) -> Vec<Source> {
    let source = |path: PathBuf| Source { runtime: only.unwrap_or_else(|| Runtime::of_path(&path)), path };
    let whole = source(path.to_path_buf());
    if path.is_file() || whole.runtime.reads_folders() {
        return vec![whole];
    }
    let mut walk = Walk::for_files(runtime::is_transcript);
    walk.below(path);
    walk.sorted().into_iter().map(source).collect()
}

fn read_all(sources: &[Source], watched: bool) -> Everything {
    let bytes = bulk::size(sources);
    let progress = Progress::new(bytes, watched && bytes >= LONG_WORK);
    let read = bulk::read(sources, |bytes| progress.add(bytes));
    progress.clear();
    read
}

//! `tally usage`: exact usage of transcripts found under a home, or of the named files.

use super::Context;
use super::failure::Failure;
use crate::pricing;
use crate::report::usage::Usage;
use crate::settings::PricingSettings;
use crate::settings::env::vars;
use crate::usage::claude::line::HOST;
use crate::usage::claude::{bulk, layout};
use crate::usage::{Diagnostics, Ledger};
use indicatif::{ProgressBar, ProgressStyle};
use std::path::{Path, PathBuf};

/// Add up the usage in transcripts.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Print the documented JSON (schemas/usage.schema.json).
    #[arg(long)]
    json: bool,
    /// Look for transcripts under this home instead of your own.
    #[arg(long, value_name = "DIR")]
    home: Option<PathBuf>,
    /// Only transcripts of this host.
    #[arg(long, value_name = "H")]
    host: Option<String>,
    /// Price by this registry instead of the configured one.
    #[arg(long, value_name = "FILE")]
    pricing: Option<PathBuf>,
    /// Transcripts, or folders of them; found under the home when none is named.
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
}

/// Work on more bytes than this is shown as it goes.
const LONG_WORK: u64 = 64 << 20;

pub(super) fn run(args: &Args, context: &mut Context<'_>) -> Result<u8, Failure> {
    if let Some(host) = args.host.as_deref().filter(|host| *host != HOST) {
        return Err(Failure::Usage(format!("unknown host {host:?}; transcripts of {HOST} can be read")));
    }
    let configured = context.settings()?.pricing;
    let named = args.pricing.as_ref().map(|path| context.cwd.join(path));
    let prices = pricing::load(&PricingSettings { file: named.or(configured.file.clone()), ..configured });
    for warning in &prices.warnings {
        writeln!(context.err, "tally: {warning}")?;
    }
    let (ledger, diagnostics) = read_all(&transcripts(args, context)?, context.watched);
    let usage = Usage::of(&ledger, &prices.registry, diagnostics);
    if args.json {
        serde_json::to_writer_pretty(&mut *context.out, &usage).map_err(std::io::Error::from)?;
        writeln!(context.out)?;
    } else {
        write!(context.out, "{}", usage.to_table(context.width))?;
    }
    Ok(0)
}

fn transcripts(args: &Args, context: &Context<'_>) -> Result<Vec<PathBuf>, Failure> {
    if !args.paths.is_empty() {
        let mut files = vec![];
        for path in args.paths.iter().map(|path| context.cwd.join(path)) {
            if path.is_dir() {
                files.extend(layout::transcripts_below([path.as_path()]));
            } else if path.exists() {
                files.push(path);
            } else {
                return Err(Failure::Failed(format!(
                    "{}: there is no such transcript or folder",
                    path.display()
                )));
            }
        }
        return Ok(files);
    }
    let own_home = context.env.path(&vars::HOME);
    let home = args.home.as_ref().map(|home| context.cwd.join(home)).or(own_home.map(Path::to_path_buf));
    let home = home.ok_or_else(|| Failure::Usage("HOME is not set; name a folder with --home".to_owned()))?;
    // The variable speaks of the user's own home, not of one that is named.
    let config_dirs = context.env.get(&vars::CLAUDE_CONFIG_DIR).filter(|_| args.home.is_none());
    Ok(layout::transcripts_below(layout::roots(&home, config_dirs).iter().map(PathBuf::as_path)))
}

fn read_all(paths: &[PathBuf], watched: bool) -> (Ledger, Diagnostics) {
    let bar = progress(bulk::size(paths), watched);
    let read = bulk::read(paths, |bytes| bar.inc(bytes));
    bar.finish_and_clear();
    read
}

fn progress(bytes: u64, watched: bool) -> ProgressBar {
    if !watched || bytes < LONG_WORK {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{wide_bar} {bytes}/{total_bytes}");
    ProgressBar::new(bytes).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

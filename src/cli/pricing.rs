//! `tally pricing`: what the registry in use says, whether a file is a registry, what one call would cost.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, Subcommand};
use comfy_table::{CellAlignment, ContentArrangement, Table as TextTable, presets};
use serde::Serialize;

use crate::journal::foreign::MAX_COUNT;
use crate::pricing::{self, Basis, Loaded, Origin, Rate, Rates, Request, Row, Speed, Table, Usd};
use crate::settings::PricingSettings;
use crate::sys::clock;
use crate::usage::Tokens;

const DONE: u8 = 0;
const REFUSED: u8 = 1;

/// Look at the price registry, check one, or price a call.
#[derive(Debug, Args)]
pub(super) struct PricingArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List the rates in force, in USD per million tokens.
    Show(ShowArgs),
    /// Validate a registry file.
    Check(CheckArgs),
    /// Price one request.
    Price(PriceArgs),
}

#[derive(Debug, Args)]
struct ShowArgs {
    /// The rates at this date (YYYY-MM-DD or RFC 3339) instead of now.
    #[arg(long, value_name = "DATE", value_parser = parse_at)]
    at: Option<i64>,
    /// Only this model, in any spelling.
    #[arg(long)]
    model: Option<String>,
    /// A registry file to use instead of the configured one.
    #[arg(long, value_name = "FILE")]
    pricing: Option<PathBuf>,
    /// Print JSON (schemas/pricing-output.schema.json).
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct CheckArgs {
    /// The file.
    file: PathBuf,
}

#[derive(Debug, Args)]
struct PriceArgs {
    /// The model, in any spelling.
    model: String,
    /// Uncached input tokens.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = count())]
    input: i64,
    /// Output tokens, reasoning included.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = count())]
    output: i64,
    /// Tokens read from the cache.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = count())]
    cache_read: i64,
    /// Tokens written to the cache for five minutes.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = count())]
    cache_write_5m: i64,
    /// Tokens written to the cache for an hour.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = count())]
    cache_write_1h: i64,
    /// Web searches.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = count())]
    web_searches: i64,
    /// Fast (priority) mode.
    #[arg(long)]
    fast: bool,
    /// US-only inference.
    #[arg(long)]
    us: bool,
    /// When the request was made (YYYY-MM-DD or RFC 3339) instead of now.
    #[arg(long, value_name = "DATE", value_parser = parse_at)]
    at: Option<i64>,
    /// A registry file to use instead of the configured one.
    #[arg(long, value_name = "FILE")]
    pricing: Option<PathBuf>,
    /// Print JSON (schemas/pricing-output.schema.json).
    #[arg(long)]
    json: bool,
}

fn count() -> clap::builder::RangedI64ValueParser<i64> {
    clap::value_parser!(i64).range(0..=MAX_COUNT)
}

/// A date is the start of that day, UTC.
fn parse_at(text: &str) -> Result<i64, String> {
    clock::parse_rfc3339(text)
        .or_else(|| clock::parse_rfc3339(&format!("{text}T00:00:00Z")))
        .ok_or_else(|| "not a date (YYYY-MM-DD) or an RFC 3339 time".to_owned())
}

/// Runs the verb and returns the exit code: 0 done; 1 refused, where the file is not a registry or there is no price.
///
/// # Errors
/// When `out` or `err` cannot be written.
pub(super) fn run(
    args: &PricingArgs,
    out: &mut dyn Write,
    err: &mut dyn Write,
    settings: &PricingSettings,
) -> io::Result<u8> {
    let file = match &args.verb {
        Verb::Show(args) => args.pricing.as_ref(),
        Verb::Check(args) => Some(&args.file),
        Verb::Price(args) => args.pricing.as_ref(),
    };
    let file = file.or(settings.file.as_ref()).cloned();
    let loaded = pricing::load(&PricingSettings { file, ..settings.clone() });
    for warning in &loaded.warnings {
        writeln!(err, "warning: {warning}")?;
    }
    match &args.verb {
        Verb::Show(args) => show(args, out, err, &loaded),
        Verb::Check(_) => check(out, &loaded),
        Verb::Price(args) => price(args, out, err, &loaded),
    }
}

/// One model of `show --json`.
#[derive(Serialize)]
struct Listed<'a> {
    model: &'a str,
    #[serde(flatten)]
    row: &'a Row,
}

#[derive(Serialize)]
struct Listing<'a> {
    registry: String,
    version: &'a str,
    basis: Basis,
    web_search_per_1000: Rate,
    models: Vec<Listed<'a>>,
}

fn show(args: &ShowArgs, out: &mut dyn Write, err: &mut dyn Write, loaded: &Loaded) -> io::Result<u8> {
    let registry = &loaded.registry;
    let Some(table) = registry.table(Some(args.at.unwrap_or_else(clock::now_ms))) else {
        writeln!(err, "error: {} lists no version", origin(loaded))?;
        return Ok(REFUSED);
    };
    let wanted = args.model.as_deref().map(|raw| registry.canonical_id(raw));
    let models: Vec<Listed<'_>> = table
        .models()
        .into_iter()
        .filter(|model| wanted.as_deref().is_none_or(|wanted| wanted == *model))
        .filter_map(|model| Some(Listed { model, row: table.row(model)? }))
        .collect();
    if let (Some(wanted), true) = (&wanted, models.is_empty()) {
        writeln!(err, "error: {}", unlisted(wanted, &table, loaded))?;
        return Ok(REFUSED);
    }
    if args.json {
        let listing = Listing {
            registry: origin(loaded),
            version: table.version(),
            basis: table.basis,
            web_search_per_1000: table.web_search_per_1000(),
            models,
        };
        return print_json(out, &listing).map(|()| DONE);
    }
    writeln!(out, "{}, version {} ({})", origin(loaded), table.version(), basis_text(table.basis))?;
    writeln!(out, "USD per million tokens; fast and US-only multiply them\n")?;
    writeln!(out, "{}", text_table(&models))?;
    writeln!(out, "\n{} USD per 1000 web searches", f64::from(table.web_search_per_1000()))?;
    Ok(DONE)
}

fn text_table(models: &[Listed<'_>]) -> TextTable {
    let mut text = TextTable::new();
    text.load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(80)
        .set_header(["model", "input", "output", "read", "write 5m", "write 1h", "fast", "US"]);
    for column in text.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let number = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| value.to_string());
    let cells = |name: String, rates: &Rates| {
        let rate = |rate: Option<Rate>| number(rate.map(f64::from));
        [
            name,
            rate(Some(rates.input)),
            rate(Some(rates.output)),
            rate(rates.cache_read),
            rate(rates.cache_write_5m),
            rate(rates.cache_write_1h),
        ]
    };
    for Listed { model, row } in models {
        let modes = [number(row.fast.map(f64::from)), number(row.us_geo.map(f64::from))];
        text.add_row(cells((*model).to_owned(), &row.rates).into_iter().chain(modes));
        for tier in &row.tiers {
            text.add_row(cells(format!("  prompt > {}", tier.prompt_above), &tier.rates));
        }
    }
    text
}

/// An invalid file was said in the warning that the registry came with.
fn check(out: &mut dyn Write, loaded: &Loaded) -> io::Result<u8> {
    let (Origin::File(path), Some(current)) = (&loaded.origin, loaded.registry.table(None)) else {
        return Ok(REFUSED);
    };
    let (version, models) = (current.version(), current.models().len());
    writeln!(out, "{}: valid; current version {version} lists {models} models", path.display())?;
    Ok(DONE)
}

/// `price --json`.
#[derive(Serialize)]
struct Quote<'a> {
    registry: String,
    model: &'a str,
    model_raw: &'a str,
    version: Option<&'a str>,
    basis: Option<Basis>,
    default_rate: bool,
    cost_usd: Option<Usd>,
}

fn price(args: &PriceArgs, out: &mut dyn Write, err: &mut dyn Write, loaded: &Loaded) -> io::Result<u8> {
    let registry = &loaded.registry;
    let tokens = Tokens {
        input: args.input,
        output: args.output,
        cache_write_5m: args.cache_write_5m,
        cache_write_1h: args.cache_write_1h,
        cache_read: args.cache_read,
        web_search_requests: args.web_searches,
    };
    let at_ms = Some(args.at.unwrap_or_else(clock::now_ms));
    let speed = if args.fast { Speed::Fast } else { Speed::Standard };
    let priced = registry.price(&Request {
        model: &args.model,
        at_ms,
        tokens: &tokens,
        speed,
        us_only: args.us,
        summed: false,
    });
    let model = registry.canonical_id(&args.model);
    if args.json {
        let quote = Quote {
            registry: origin(loaded),
            model: &model,
            model_raw: &args.model,
            version: priced.map(|priced| priced.version),
            basis: priced.map(|priced| priced.basis),
            default_rate: priced.is_some_and(|priced| priced.default_rate),
            cost_usd: priced.map(|priced| priced.cost),
        };
        print_json(out, &quote)?;
    } else if let Some(priced) = priced {
        let rates = if priced.default_rate { "the registry's default rate, " } else { "" };
        let basis = basis_text(priced.basis);
        writeln!(out, "{:.6}  {model}  ({rates}version {}, {basis})", priced.cost, priced.version)?;
    }
    match (priced, registry.table(at_ms)) {
        (Some(_), _) => return Ok(DONE),
        (None, Some(table)) if table.row(&model).is_none() => {
            writeln!(err, "error: {}", unlisted(&model, &table, loaded))?;
        }
        _ => writeln!(err, "error: {model} is listed, but without a rate for such a request")?,
    }
    Ok(REFUSED)
}

fn print_json(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    writeln!(out)
}

fn unlisted(model: &str, table: &Table<'_>, loaded: &Loaded) -> String {
    format!("no price for {model}: version {} of {} does not list it", table.version(), origin(loaded))
}

fn origin(loaded: &Loaded) -> String {
    match &loaded.origin {
        Origin::File(path) => path.display().to_string(),
        Origin::Cached(path) => format!("cached copy {}", path.display()),
        Origin::Bundled => "bundled registry".to_owned(),
    }
}

fn basis_text(basis: Basis) -> &'static str {
    match basis {
        Basis::InForce => "in force",
        Basis::CurrentNoTimestamp => "current; no time given",
        Basis::FirstVersion => "the first; the time is before it",
    }
}

#[cfg(test)]
#[path = "pricing_tests.rs"]
mod tests;

//! `tally pricing`: what the registry in use says, whether a file is a registry, what one call would cost.

use std::io::{self, Write};

use comfy_table::{CellAlignment, ContentArrangement, Table as TextTable, presets};
use serde::Serialize;

use super::Context;
use super::failure::Failure;
use super::verb::Does::{Run, Verbs};
use super::verb::Kind::{self, Path, Text, Time};
use super::verb::{Arg, Given, Verb, flag, option, place};
use crate::journal::foreign::MAX_COUNT;
use crate::pricing::{self, Basis, Loaded, Origin, Rate, Rates, Request, Row, Speed, Table, Usd};
use crate::settings::PricingSettings;
use crate::sys::clock;
use crate::usage::Tokens;

const DONE: u8 = 0;
const REFUSED: u8 = 1;

pub(super) const VERB: Verb = Verb {
    name: "pricing",
    about: "Look at the price registry, check one, or price a call",
    does: Verbs(&[
        Verb {
            name: "show",
            about: "List the rates in force, in USD per million tokens",
            does: Run(|given, context| run(given, context, given.path(PRICING), show)),
            args: &[
                option(
                    "at",
                    "DATE",
                    Time(parse_at),
                    "The rates at this date (YYYY-MM-DD or RFC 3339) instead of now",
                ),
                option("model", "MODEL", Text, "Only this model, in any spelling"),
                FILE,
                JSON,
            ],
        },
        Verb {
            name: "check",
            about: "Validate a registry file",
            does: Run(check),
            args: &[place("FILE", Path, "The file")],
        },
        Verb {
            name: "price",
            about: "Price one request",
            does: Run(|given, context| run(given, context, given.path(PRICING), price)),
            args: &[
                place("MODEL", Text, "The model, in any spelling"),
                option("input", "N", COUNT, "Uncached input tokens").default("0"),
                option("output", "N", COUNT, "Output tokens, reasoning included").default("0"),
                option("cache-read", "N", COUNT, "Tokens read from the cache").default("0"),
                option("cache-write-5m", "N", COUNT, "Tokens written to the cache for five minutes")
                    .default("0"),
                option("cache-write-1h", "N", COUNT, "Tokens written to the cache for an hour").default("0"),
                option("web-searches", "N", COUNT, "Web searches").default("0"),
                flag("fast", "Fast (priority) mode"),
                flag("us", "US-only inference"),
                option(
                    "at",
                    "DATE",
                    Time(parse_at),
                    "When the request was made (YYYY-MM-DD or RFC 3339) instead of now",
                ),
                FILE,
                JSON,
            ],
        },
    ]),
    args: &[],
};

const PRICING: &str = "pricing";
const FILE: Arg = option(PRICING, "FILE", Path, "A registry file to use instead of the configured one");
const JSON: Arg = flag("json", "Print JSON (schemas/pricing-output.schema.json)");
const COUNT: Kind = Kind::Number(0, MAX_COUNT);

/// A date is the start of that day, UTC.
fn parse_at(text: &str) -> Result<i64, String> {
    clock::parse_rfc3339(text)
        .or_else(|| clock::parse_rfc3339(&format!("{text}T00:00:00Z")))
        .ok_or_else(|| "not a date (YYYY-MM-DD) or an RFC 3339 time".to_owned())
}

/// What a verb does with a registry. It returns the exit code: 0 done; 1 refused, where the file is not a registry or there
/// is no price.
type With = fn(&Given<'_>, &mut dyn Write, &mut dyn Write, &Loaded) -> io::Result<u8>;

fn run(
    given: &Given<'_>,
    context: &mut Context<'_>,
    file: Option<&std::path::Path>,
    with: With,
) -> Result<u8, Failure> {
    let configured = context.settings()?.pricing;
    let file = file.map(std::path::Path::to_path_buf).or(configured.file.clone());
    let loaded = pricing::load(&PricingSettings { file, ..configured });
    for warning in &loaded.warnings {
        writeln!(context.err, "warning: {warning}")?;
    }
    Ok(with(given, context.out, context.err, &loaded)?)
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

fn show(given: &Given<'_>, out: &mut dyn Write, err: &mut dyn Write, loaded: &Loaded) -> io::Result<u8> {
    let registry = &loaded.registry;
    let Some(table) = registry.table(Some(given.number("at").unwrap_or_else(clock::now_ms))) else {
        writeln!(err, "error: {} lists no version", origin(loaded))?;
        return Ok(REFUSED);
    };
    let wanted = given.text("model").map(|raw| registry.canonical_id(raw));
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
    if given.flag("json") {
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
fn check(given: &Given<'_>, context: &mut Context<'_>) -> Result<u8, Failure> {
    let configured = context.settings()?.pricing;
    let file = given.path("FILE").map(std::path::Path::to_path_buf);
    let loaded = pricing::load(&PricingSettings { file, ..configured });
    let (Origin::File(path), Some(current)) = (&loaded.origin, loaded.registry.table(None)) else {
        // Nothing is priced here, so nothing is used instead.
        for warning in &loaded.warnings {
            writeln!(context.err, "error: {}", warning.strip_suffix(pricing::INSTEAD).unwrap_or(warning))?;
        }
        return Ok(REFUSED);
    };
    for warning in &loaded.warnings {
        writeln!(context.err, "warning: {warning}")?;
    }
    let (version, models) = (current.version(), current.models().len());
    writeln!(context.out, "{}: valid; current version {version} lists {models} models", path.display())?;
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

fn price(given: &Given<'_>, out: &mut dyn Write, err: &mut dyn Write, loaded: &Loaded) -> io::Result<u8> {
    let registry = &loaded.registry;
    let model_raw = given.text("MODEL").unwrap_or_default();
    let count = |id| given.number(id).unwrap_or_default();
    let tokens = Tokens {
        input: count("input"),
        output: count("output"),
        cache_write_5m: count("cache-write-5m"),
        cache_write_1h: count("cache-write-1h"),
        cache_read: count("cache-read"),
        web_search_requests: count("web-searches"),
    };
    let at_ms = Some(given.number("at").unwrap_or_else(clock::now_ms));
    let speed = if given.flag("fast") { Speed::Fast } else { Speed::Standard };
    let priced = registry.price(&Request {
        model: model_raw,
        at_ms,
        tokens: &tokens,
        speed,
        us_only: given.flag("us"),
        summed: false,
    });
    let model = registry.canonical_id(model_raw);
    if given.flag("json") {
        let quote = Quote {
            registry: origin(loaded),
            model: &model,
            model_raw,
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

//! `tally relay status | flush | listen`: what is on its way, sent now, or shown instead of sent.

use std::io::{self, Write};
use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::Value;

use crate::relay::outbox::Error;
use crate::relay::receiver::{Received, Receiver};
use crate::relay::{self, Status};
use crate::settings::Settings;
use crate::settings::env::Env;
use crate::settings::switch::Switch;

/// How often `listen` looks whether its output is still read.
const POLL: Duration = Duration::from_secs(3600);

/// Arguments of `tally relay`.
#[derive(Debug, Args)]
pub(super) struct RelayArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show what was queued, delivered, rejected, evicted and is pending.
    Status {
        /// Print one JSON object (schemas/relay-status.schema.json).
        #[arg(long)]
        json: bool,
    },
    /// Send what can be sent now; exit code 1 when something is still pending.
    Flush {
        /// How long to try, in seconds.
        #[arg(long, value_name = "S", default_value_t = 30)]
        timeout: u64,
        /// Print one JSON object (schemas/relay-status.schema.json).
        #[arg(long)]
        json: bool,
    },
    /// Receive records on this machine and show them: a stand-in for the Console.
    Listen {
        /// The loopback port; 0 takes a free one.
        #[arg(long, value_name = "P", default_value_t = 0)]
        port: u16,
        /// Print one JSON object per request.
        #[arg(long)]
        json: bool,
    },
}

/// Runs the command on the outbox of these settings and returns the exit code.
///
/// # Errors
/// When `out` or `err` cannot be written.
pub(super) fn run(
    args: &RelayArgs,
    settings: &Settings,
    env: &Env,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<u8> {
    let data_dir = &settings.data_dir;
    let switch = &settings.economics_relay;
    match args.command {
        Command::Status { json } => match relay::status(data_dir) {
            Ok(status) => show(&status, switch, json, out).map(|()| 0),
            Err(error) => failed(&error, err),
        },
        Command::Flush { timeout, json } => match relay::flush(data_dir, env, Duration::from_secs(timeout)) {
            Ok(status) => show(&status, switch, json, out).map(|()| u8::from(status.pending > 0)),
            Err(error) => failed(&error, err),
        },
        Command::Listen { port, json } => match Receiver::start(port) {
            Ok(receiver) => listen(&receiver, json, out, err),
            Err(error) => {
                writeln!(err, "error: cannot listen on 127.0.0.1:{port}: {error}")?;
                Ok(1)
            }
        },
    }
}

fn failed(error: &Error, err: &mut dyn Write) -> io::Result<u8> {
    writeln!(err, "error: {error}")?;
    Ok(1)
}

/// The books, and whether anything is added to them.
#[derive(serde::Serialize)]
struct Answer<'a> {
    #[serde(flatten)]
    status: &'a Status,
    relay: Relay<'a>,
}

/// Whether the economics of runs are relayed, and why.
#[derive(serde::Serialize)]
struct Relay<'a> {
    on: bool,
    reason: &'a str,
}

fn show(status: &Status, switch: &Switch, json: bool, out: &mut dyn Write) -> io::Result<()> {
    if json {
        let relay = Relay { on: switch.on, reason: &switch.reason };
        serde_json::to_writer_pretty(&mut *out, &Answer { status, relay })?;
        return writeln!(out);
    }
    writeln!(out, "the relay is {}: {}", if switch.on { "on" } else { "off" }, switch.reason)?;
    let Status { enqueued, delivered, rejected, evicted, pending, .. } = status;
    writeln!(
        out,
        "enqueued {enqueued} = delivered {delivered} + rejected {rejected} + evicted {evicted} + pending {pending}"
    )?;
    if status.superseded > 0 {
        writeln!(out, "of the evicted, {} made way for later liveness records", status.superseded)?;
    }
    if status.delivered_before > 0 {
        writeln!(out, "finding: the Console knew {} ids before we first sent them", status.delivered_before)?;
    }
    if let Some(oldest) = &status.oldest {
        let since = oldest.enqueued_at.as_deref().unwrap_or("an unknown time");
        writeln!(out, "oldest: {} {} for {}, since {since}", oldest.kind, oldest.id, oldest.origin)?;
    }
    if let Some(next) = &status.next_attempt {
        let at = next.at.as_deref().unwrap_or("when the credential changes");
        writeln!(out, "next attempt: {at} ({})", next.reason)?;
    }
    for origin in &status.origins {
        writeln!(out, "{}: {} pending, {} delivered", origin.origin, origin.pending, origin.delivered)?;
        if let Some(reason) = &origin.reason {
            writeln!(out, "  failed {} times: {reason}", origin.failures)?;
        }
        for waiting in &origin.waiting {
            let tenant = waiting.tenant.as_deref().unwrap_or("(none)");
            writeln!(out, "  tenant {tenant} waits: {} [{}]", waiting.reason, waiting.source)?;
        }
    }
    if status.worker_running {
        writeln!(out, "a worker is sending now")?;
    }
    Ok(())
}

fn listen(receiver: &Receiver, json: bool, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<u8> {
    writeln!(err, "listening on {} (Ctrl-C ends)", receiver.url())?;
    loop {
        let Some(request) = receiver.next(POLL) else { continue };
        if json {
            print_json(&request, out)?
        } else {
            print_readable(&request, out)?
        }
        out.flush()?;
    }
}

fn print_json(request: &Received, out: &mut dyn Write) -> io::Result<()> {
    let headers: serde_json::Map<String, Value> =
        request.headers.iter().map(|(name, value)| (name.clone(), masked(name, value).into())).collect();
    let shown = serde_json::json!({
        "method": request.method,
        "path": request.path,
        "headers": headers,
        "body": body(request),
    });
    writeln!(out, "{shown}")
}

fn print_readable(request: &Received, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{} {}", request.method, printable(&request.path))?;
    for (name, value) in &request.headers {
        writeln!(out, "{}: {}", printable(name), printable(masked(name, value)))?;
    }
    match body(request) {
        Value::String(text) => writeln!(out, "\n{}\n", printable(&text)),
        json => writeln!(out, "\n{json:#}\n"),
    }
}

/// The body as JSON, or as text where it is none.
fn body(request: &Received) -> Value {
    serde_json::from_slice(&request.body)
        .unwrap_or_else(|_| String::from_utf8_lossy(&request.body).into_owned().into())
}

/// The value as it may be shown: a credential only by its kind.
fn masked<'a>(name: &str, value: &'a str) -> &'a str {
    match name {
        "authorization" if value.starts_with("Bearer ") => "Bearer [redacted]",
        "authorization" | "proxy-authorization" | "cookie" | "x-console-api-token" => "[redacted]",
        _ => value,
    }
}

/// The text without what would steer a terminal.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(body: &str) -> Received {
        Received {
            method: "POST".to_owned(),
            path: "/records".to_owned(),
            headers: vec![
                ("authorization".to_owned(), "Bearer tok-123".to_owned()),
                ("x-console-api-token".to_owned(), "tok-123".to_owned()),
                ("x-console-tenant-id".to_owned(), "a".to_owned()),
            ],
            body: body.as_bytes().to_vec(),
        }
    }

    fn shown(print: impl Fn(&Received, &mut dyn Write) -> io::Result<()>, body: &str) -> String {
        let mut out = Vec::new();
        print(&request(body), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_request_is_shown_without_its_token() {
        let readable = shown(print_readable, r#"{"run_id":"r1"}"#);
        assert!(readable.contains("authorization: Bearer [redacted]"), "{readable}");
        assert!(readable.contains("\"run_id\": \"r1\""), "{readable}");
        let line = shown(print_json, r#"{"run_id":"r1"}"#);
        let json: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(
            (&json["body"]["run_id"], &json["headers"]["x-console-tenant-id"]),
            (&"r1".into(), &"a".into())
        );
        assert!(!format!("{readable}{line}").contains("tok-123"));
    }

    #[test]
    fn a_body_cannot_steer_the_terminal() {
        assert!(!shown(print_readable, "\u{1b}[2Jplain").contains('\u{1b}'));
    }
}

//! `tally relay listen`: what would leave the machine, shown instead of sent.

use std::io::{self, Write};
use std::time::Duration;

use serde_json::Value;

use super::super::Context;
use super::super::failure::Failure;
use super::super::verb::Does::Run;
use super::super::verb::Kind::Number;
use super::super::verb::{Given, Verb, flag, option};
use crate::relay::receiver::{Received, Receiver};

/// How often `listen` looks whether its output is still read.
const POLL: Duration = Duration::from_secs(3600);

pub(super) const VERB: Verb = Verb {
    name: "listen",
    about: "Receive records on this machine and show them: a stand-in for the Console",
    does: Run(run),
    args: &[
        option("port", "P", Number(0, 65535), "The loopback port; 0 takes a free one").default("0"),
        flag("json", "Print one JSON object per request"),
    ],
};

fn run(given: &Given<'_>, context: &mut Context<'_>) -> Result<u8, Failure> {
    let port = given.number("port").and_then(|port| port.try_into().ok()).unwrap_or_default();
    let receiver = Receiver::start(port)
        .map_err(|error| Failure::Failed(format!("cannot listen on 127.0.0.1:{port}: {error}")))?;
    Ok(listen(&receiver, given.flag("json"), context.out, context.err)?)
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
    let mut headers = serde_json::Map::new();
    headers
        .extend(request.headers.iter().map(|(name, value)| (name.clone(), Value::from(masked(name, value)))));
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

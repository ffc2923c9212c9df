//! Whether the Console takes our token for our tenant: one read that changes nothing, and what its answer means
//! (Console ingest §2 and §5).

use std::time::Duration;

use serde_json::Value;

use super::report::{Finding, Reachability};
use crate::relay::probe;
use crate::relay::transport::Reply;
use crate::settings::Timeouts;
use crate::settings::destination::Destination;
use crate::settings::endpoint::Endpoint;
use crate::setup::console::HOSTED_URL;

/// Whom the doctor may ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Nobody; why.
    Nowhere(&'static str),
    /// A Console on this machine, and the hosted one.
    Known,
    /// Any Console that is configured.
    Anywhere,
}

/// Whom the doctor may ask, and how long it waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    /// Whom it may ask.
    pub reach: Reach,
    /// How long an answer may take.
    pub timeout: Duration,
}

/// What is known after asking.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Answer {
    /// Whether the token is accepted for the tenant.
    pub(super) authenticated: Option<bool>,
    /// Whether the Console can be reached.
    pub(super) reachability: Reachability,
    /// What to say about it.
    pub(super) finding: Option<Finding>,
}

const ROTATE: &str = "tally init --yes --console-token-file FILE";

/// Whether `endpoint` may be asked.
pub(super) fn is_allowed(endpoint: &Endpoint, network: Network) -> bool {
    let hosted = Endpoint::parse(HOSTED_URL).is_ok_and(|hosted| hosted.origin() == endpoint.origin());
    network.reach == Reach::Anywhere || endpoint.is_loopback() || hosted
}

/// Asks the Console of `destination`.
pub(super) fn ask(destination: &Destination, network: Network) -> Answer {
    let Some(endpoint) = destination.read_endpoint() else {
        return not_asked("the destination has no usable endpoint", None);
    };
    if let Reach::Nowhere(reason) = network.reach {
        return not_asked(reason, None);
    }
    if !is_allowed(&endpoint, network) {
        let said = format!(
            "{} was not asked: it is neither on this machine nor the hosted Console",
            endpoint.origin()
        );
        let finding = Finding::warning("console-not-asked", said, "tally doctor --allow-network");
        return not_asked("not asked: use --allow-network", Some(finding));
    }
    let token = match destination.load_credential() {
        Ok(token) => token,
        Err(unusable) => {
            let finding = Finding::error("credential-unusable", unusable.to_string(), ROTATE);
            return not_asked("the credential cannot be used", Some(finding));
        }
    };
    let timeouts = Timeouts { connect: network.timeout, total: network.timeout };
    match probe::ask(&endpoint, token.as_ref(), destination.tenant.as_deref(), timeouts) {
        Ok(reply) => judge(&reply, token.is_some(), destination.tenant.as_deref(), endpoint.origin()),
        Err(error) => {
            let error = match error.to_string() {
                late if late.contains("in time") => {
                    format!("timeout after {}ms", network.timeout.as_millis())
                }
                other => other,
            };
            let said =
                format!("{} cannot be reached: {error}; records wait in the outbox", endpoint.origin());
            let fix = "start the Console, or mend the URL: tally init --yes --console-url URL";
            Answer {
                authenticated: None,
                reachability: Reachability {
                    checked: true,
                    ok: Some(false),
                    status_code: None,
                    error: Some(error),
                },
                finding: Some(Finding::error("console-unreachable", said, fix)),
            }
        }
    }
}

fn not_asked(error: &str, finding: Option<Finding>) -> Answer {
    let reachability = Reachability { error: Some(error.to_owned()), ..Reachability::default() };
    Answer { authenticated: None, reachability, finding }
}

/// What an answer to the read means.
fn judge(reply: &Reply, has_token: bool, tenant: Option<&str>, origin: &str) -> Answer {
    let status = reply.status;
    let tenant_shown = tenant.unwrap_or("(none)");
    let (authenticated, ok, error, finding) = match status {
        401 if has_token => (
            Some(false),
            false,
            Some("the token is refused"),
            Some(Finding::error(
                "token-refused",
                format!("{origin} answers 401: it does not know the token"),
                ROTATE,
            )),
        ),
        401 => (
            Some(false),
            false,
            Some("a token is required"),
            Some(Finding::error("token-missing", format!("{origin} answers 401: it wants a token"), ROTATE)),
        ),
        403 => (
            Some(false),
            false,
            Some("the token is not for this tenant"),
            Some(Finding::error(
                "tenant-refused",
                format!("{origin} answers 403: the token is known, but not for tenant {tenant_shown}"),
                "tally init --yes --console-tenant TENANT",
            )),
        ),
        200 => return judge_body(reply, has_token, tenant, origin),
        500..=599 => (
            None,
            false,
            Some("the Console cannot answer now"),
            Some(Finding::error(
                "console-failing",
                format!("{origin} answers {status}; records wait in the outbox"),
                "try again later: tally doctor",
            )),
        ),
        _ => (None, true, Some("unrecognised answer"), Some(unrecognised(origin, status))),
    };
    let error = error.map(str::to_owned);
    let reachability = Reachability { checked: true, ok: Some(ok), status_code: Some(status), error };
    Answer { authenticated, reachability, finding }
}

/// A 200: the Console names the tenant whose data it shows.
fn judge_body(reply: &Reply, has_token: bool, tenant: Option<&str>, origin: &str) -> Answer {
    let reached = |error: Option<&str>| Reachability {
        checked: true,
        ok: Some(true),
        status_code: Some(reply.status),
        error: error.map(str::to_owned),
    };
    // The body is cut where it is long; the tenant comes early.
    let text = String::from_utf8_lossy(&reply.body);
    if !text.trim_start().starts_with('{') {
        let finding = Some(unrecognised(origin, reply.status));
        return Answer { authenticated: None, reachability: reached(Some("unrecognised answer")), finding };
    }
    let whole = serde_json::from_slice::<Value>(&reply.body).ok();
    let named = whole.as_ref().and_then(|body| body.get("tenantId")).and_then(Value::as_str);
    let others = named.zip(tenant).is_some_and(|(named, tenant)| named != tenant);
    if others || !has_token {
        let shown: String =
            named.unwrap_or("(unnamed)").chars().filter(|c| !c.is_control()).take(128).collect();
        let said = format!("{origin} checks no token: it answers for tenant {shown}");
        let finding = others.then(|| {
            Finding::warning(
                "tenant-differs",
                said,
                "a Console in local mode has one tenant; nothing to do if that is yours",
            )
        });
        return Answer { authenticated: None, reachability: reached(None), finding };
    }
    Answer { authenticated: Some(true), reachability: reached(None), finding: None }
}

fn unrecognised(origin: &str, status: u16) -> Finding {
    Finding::warning(
        "console-unrecognised",
        format!(
            "{origin} answers {status}, not as a Console does; a sign-in page or a proxy may stand in between"
        ),
        "check the URL: tally init --yes --console-url URL",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::doctor::report::Severity;

    fn judged(
        status: u16,
        body: &str,
        has_token: bool,
    ) -> (Option<bool>, Option<bool>, Option<&'static str>) {
        let reply = Reply { status, retry_after: None, body: body.as_bytes().to_vec(), whole: true };
        let answer = judge(&reply, has_token, Some("acme"), "https://c");
        assert!(answer.reachability.checked && answer.reachability.status_code == Some(status));
        let error = answer.finding.as_ref().is_some_and(|finding| finding.severity == Severity::Error);
        assert_eq!(answer.reachability.ok, Some(!error), "{status} {body}");
        (answer.authenticated, answer.reachability.ok, answer.finding.map(|finding| finding.id))
    }

    #[test]
    fn only_an_answer_for_the_tenant_is_an_accepted_token() {
        let yes = Some(true);
        assert_eq!(judged(200, r#"{"tenantId":"acme","cost":[]}"#, true), (yes, yes, None));
        assert_eq!(judged(200, r#"{"cost":[]}"#, true), (yes, yes, None));
        assert_eq!(judged(200, r#"{"tenantId":"default"}"#, true), (None, yes, Some("tenant-differs")));
        assert_eq!(judged(200, r#"{"tenantId":"acme"}"#, false), (None, yes, None));
        for (status, body) in [(200, "<html>sign in</html>"), (302, ""), (404, "{}"), (400, "{}"), (204, "")]
        {
            assert_eq!(judged(status, body, true), (None, yes, Some("console-unrecognised")), "{status}");
        }
    }

    #[test]
    fn a_refused_token_a_wrong_tenant_and_a_sick_console_are_told_apart() {
        let no = Some(false);
        assert_eq!(judged(401, "{}", true), (no, no, Some("token-refused")));
        assert_eq!(judged(401, "{}", false), (no, no, Some("token-missing")));
        assert_eq!(judged(403, "{}", true), (no, no, Some("tenant-refused")));
        assert_eq!(judged(503, "", true), (None, no, Some("console-failing")));
    }

    #[test]
    fn only_this_machine_and_the_hosted_console_are_asked_unasked() {
        let allowed = |text: &str, anywhere| {
            let reach = if anywhere { Reach::Anywhere } else { Reach::Known };
            is_allowed(&Endpoint::parse(text).unwrap(), Network { reach, timeout: Duration::from_secs(1) })
        };
        for text in ["http://127.0.0.1:9/x", "https://localhost/x", "https://console.kontourai.io/x"] {
            assert!(allowed(text, false), "{text}");
        }
        for text in
            ["https://c.example/x", "https://console.kontourai.io:8443/x", "https://x.console.kontourai.io/x"]
        {
            assert!(!allowed(text, false) && allowed(text, true), "{text}");
        }
    }
}

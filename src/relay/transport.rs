//! The one HTTP client (DESIGN §6, §9; contract E.2).
//!
//! No redirect is followed and nothing is retried here: what an answer means is [`super::classify`]'s to say. Loopback
//! never goes through a proxy. Certificate roots are the system's, loaded only for the first `https` request. What is
//! read of an answer is bounded.

use std::cell::OnceCell;
use std::error::Error as _;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use reqwest::{Client, RequestBuilder, Response};

use crate::settings::Timeouts;
use crate::settings::endpoint::Endpoint;
use crate::settings::secret::Secret;

/// The Console closes idle connections after 5 s (Console ingest §2); ours go first.
const IDLE_TIMEOUT: Duration = Duration::from_secs(4);
const MAX_IDLE: usize = 4;
const MAX_ANSWER: usize = 64 * 1024;
const USER_AGENT: &str = concat!("tally/", env!("CARGO_PKG_VERSION"));

/// An answer, as far as it was read.
#[derive(Debug)]
pub struct Reply {
    /// The status code.
    pub status: u16,
    /// The `Retry-After` header, where it is text.
    pub retry_after: Option<String>,
    /// The body; of a longer one the first 64 KiB.
    pub body: Vec<u8>,
    /// Whether that is all of it.
    pub whole: bool,
}

/// No usable answer, and why. Never holds a URL, header or body.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoAnswer(String);

impl NoAnswer {
    /// No answer for a reason of the caller's.
    #[must_use]
    pub fn because(reason: &str) -> Self {
        Self(reason.to_owned())
    }
}

/// The clients, each built when it is first needed.
#[derive(Debug)]
pub struct Transport {
    timeouts: Timeouts,
    /// `http`, which the endpoint allowlist lets through for loopback only.
    plain: OnceCell<Client>,
    /// `https` on this machine.
    loopback: OnceCell<Client>,
    /// `https` elsewhere.
    remote: OnceCell<Client>,
}

impl Transport {
    /// Clients with these time limits; none is built yet.
    #[must_use]
    pub fn new(timeouts: Timeouts) -> Self {
        Self { timeouts, plain: OnceCell::new(), loopback: OnceCell::new(), remote: OnceCell::new() }
    }

    /// A POST of `body`, ready for [`send`].
    ///
    /// # Errors
    /// When the client cannot be built (no system roots), or a value does not fit a header.
    pub fn post(
        &self,
        endpoint: &Endpoint,
        token: Option<&Secret>,
        tenant: Option<&str>,
        body: String,
    ) -> Result<RequestBuilder, NoAnswer> {
        let url = endpoint.url().clone();
        let request = self.client(endpoint)?.post(url).header(CONTENT_TYPE, "application/json").body(body);
        credentials(request, token, tenant)
    }

    /// A GET, ready for [`send`].
    ///
    /// # Errors
    /// As [`Transport::post`].
    pub fn read(
        &self,
        endpoint: &Endpoint,
        token: Option<&Secret>,
        tenant: Option<&str>,
    ) -> Result<RequestBuilder, NoAnswer> {
        credentials(self.client(endpoint)?.get(endpoint.url().clone()), token, tenant)
    }

    /// The body of a GET that answered 200, of at most `limit` bytes, within `timeout`.
    ///
    /// # Errors
    /// When there is no such answer.
    pub async fn get(
        &self,
        endpoint: &Endpoint,
        limit: usize,
        timeout: Duration,
    ) -> Result<Vec<u8>, NoAnswer> {
        let request = self.client(endpoint)?.get(endpoint.url().clone()).timeout(timeout);
        let mut response = request.send().await.map_err(no_answer)?;
        if response.status() != 200 {
            return Err(NoAnswer(format!("HTTP {}", response.status().as_u16())));
        }
        match read_bounded(&mut response, limit).await? {
            (body, true) => Ok(body),
            (_, false) => Err(NoAnswer(format!("answer is larger than {limit} bytes"))),
        }
    }

    fn client(&self, endpoint: &Endpoint) -> Result<&Client, NoAnswer> {
        let tls = endpoint.url().scheme() == "https";
        let cell = match (tls, endpoint.is_loopback()) {
            (false, _) => &self.plain,
            (true, true) => &self.loopback,
            (true, false) => &self.remote,
        };
        if let Some(client) = cell.get() {
            return Ok(client);
        }
        let client = build(tls, endpoint.is_loopback(), self.timeouts).map_err(not_built)?;
        Ok(cell.get_or_init(|| client))
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the one door to the HTTP client")]
fn build(tls: bool, loopback: bool, timeouts: Timeouts) -> reqwest::Result<Client> {
    // Without an installed provider the builder panics. An error only says that one is installed already.
    drop(rustls::crypto::ring::default_provider().install_default());
    let mut builder = Client::builder()
        .user_agent(USER_AGENT)
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .connect_timeout(timeouts.connect)
        .timeout(timeouts.total)
        .pool_idle_timeout(IDLE_TIMEOUT)
        .pool_max_idle_per_host(MAX_IDLE);
    if loopback {
        builder = builder.no_proxy();
    }
    if !tls {
        builder = builder.tls_certs_only([]);
    }
    builder.build()
}

fn credentials(
    mut request: RequestBuilder,
    token: Option<&Secret>,
    tenant: Option<&str>,
) -> Result<RequestBuilder, NoAnswer> {
    if let Some(token) = token {
        request = request.header(AUTHORIZATION, header(&format!("Bearer {}", token.expose()), true)?);
    }
    if let Some(tenant) = tenant {
        request = request.header("x-console-tenant-id", header(tenant, false)?);
    }
    Ok(request)
}

fn header(value: &str, sensitive: bool) -> Result<HeaderValue, NoAnswer> {
    let mut value = HeaderValue::from_str(value).map_err(|_| NoAnswer("unsafe header value".to_owned()))?;
    value.set_sensitive(sensitive);
    Ok(value)
}

/// Sends a request of [`Transport::post`].
///
/// # Errors
/// When no whole answer came in time.
pub async fn send(request: RequestBuilder) -> Result<Reply, NoAnswer> {
    let mut response = request.send().await.map_err(no_answer)?;
    let status = response.status().as_u16();
    let retry_after =
        response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let (body, whole) = read_bounded(&mut response, MAX_ANSWER).await?;
    Ok(Reply { status, retry_after, body, whole })
}

/// At most `limit` bytes of the body, and whether that was all of it.
async fn read_bounded(response: &mut Response, limit: usize) -> Result<(Vec<u8>, bool), NoAnswer> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(no_answer)? {
        let room = limit - body.len();
        body.extend(chunk.iter().take(room));
        if chunk.len() > room {
            return Ok((body, false));
        }
    }
    Ok((body, true))
}

/// A client that cannot be built has no roots to trust, in all that was seen.
fn not_built(error: reqwest::Error) -> NoAnswer {
    NoAnswer(format!("no HTTP client{}; check SSL_CERT_FILE and SSL_CERT_DIR", last_cause(&error)))
}

fn no_answer(error: reqwest::Error) -> NoAnswer {
    if error.is_timeout() {
        return NoAnswer("no answer in time".to_owned());
    }
    let what = if error.is_connect() { "cannot connect" } else { "connection failed" };
    NoAnswer(format!("{what}{}", last_cause(&error)))
}

/// The last cause is the system's or the TLS library's own; those above it may show the URL.
fn last_cause(error: &reqwest::Error) -> String {
    let mut cause = error.source();
    while let Some(next) = cause.and_then(|cause| cause.source()) {
        cause = Some(next);
    }
    cause.map_or_else(String::new, |cause| format!(": {cause}"))
}

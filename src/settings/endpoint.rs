//! The endpoint allowlist (DESIGN §6): which URLs a record, and with it a token, may be sent to.
//!
//! `https` to any non-empty host; `http` only to `localhost`, `127.0.0.1` and `[::1]`, written just so: a spelling
//! that a parser would turn into one of these (`127.1`, `0x7f.1`, `%6cocalhost`) is refused, because another parser on
//! the way may read it differently. No userinfo, no fragment, no characters that a URL cannot carry.

use std::fmt;

use url::{Position, Url};

/// Hosts that plain `http` may go to, as `url` writes them.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// A URL that passed the allowlist.
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint {
    url: Url,
    origin: String,
}

/// Why a URL was refused. The URL itself is never part of the message: it may carry a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// It holds whitespace, control characters, a quote or a backslash.
    #[error("has a space, control character, quote or backslash")]
    Character,
    /// It is not an absolute URL.
    #[error("is not an absolute URL of the form https://host/path")]
    Malformed,
    /// It has no host.
    #[error("has no host")]
    NoHost,
    /// Its host is not written in ASCII.
    #[error("has a host beyond ASCII; write it in its xn-- form")]
    HostBeyondAscii,
    /// It carries a user name or password.
    #[error("carries a user name or password")]
    UserInfo,
    /// It carries a fragment.
    #[error("carries a fragment (#)")]
    Fragment,
    /// Neither `https` nor loopback `http`.
    #[error("must be https://, or http:// to localhost, 127.0.0.1 or [::1]")]
    NotAllowed,
}

impl Endpoint {
    /// Parses `text` and holds it against the allowlist.
    ///
    /// # Errors
    /// The reason of the refusal.
    pub fn parse(text: &str) -> Result<Self, EndpointError> {
        if text.contains(|c: char| c.is_whitespace() || c.is_control() || matches!(c, '"' | '\\')) {
            return Err(EndpointError::Character);
        }
        let authority = written_authority(text).ok_or(EndpointError::Malformed)?;
        if authority.is_empty() {
            return Err(EndpointError::NoHost);
        }
        if authority.contains('@') {
            return Err(EndpointError::UserInfo);
        }
        if !written_host(authority).is_ascii() {
            return Err(EndpointError::HostBeyondAscii);
        }
        let url = Url::parse(text).map_err(|_| EndpointError::Malformed)?;
        if url.fragment().is_some() {
            return Err(EndpointError::Fragment);
        }
        let host = url.host_str().unwrap_or_default();
        let allowed = match url.scheme() {
            "https" => !host.is_empty(),
            "http" => LOOPBACK.contains(&host) && written_host(authority).eq_ignore_ascii_case(host),
            _ => false,
        };
        if !allowed {
            return Err(EndpointError::NotAllowed);
        }
        Ok(Self::from_allowed(url))
    }

    /// Scheme, host and port, normalised: lower case, the default port left out (`https://console.example`).
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Path and query, starting with `/`.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.url[Position::BeforePath..Position::AfterQuery]
    }

    /// The whole URL.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Whether it stays on this machine; such a request never goes through a proxy.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        self.url.host_str().is_some_and(|host| LOOPBACK.contains(&host))
    }

    /// The same origin and query with another path.
    pub(super) fn with_path(&self, path: &str) -> Self {
        let mut url = self.url.clone();
        url.set_path(path);
        Self::from_allowed(url)
    }

    /// `path` at the root of this origin, without a query.
    pub(super) fn at_origin(&self, path: &str) -> Self {
        let mut url = self.url.clone();
        url.set_path(path);
        url.set_query(None);
        Self::from_allowed(url)
    }

    /// The same without its query.
    pub(super) fn without_query(mut self) -> Self {
        self.url.set_query(None);
        self
    }

    fn from_allowed(url: Url) -> Self {
        let origin = url.origin().ascii_serialization();
        Self { url, origin }
    }
}

/// Origin only: a path or query may carry a secret.
impl fmt::Debug for Endpoint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Endpoint({})", self.origin)
    }
}

/// What stands between `://` and the path, as written.
fn written_authority(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("://")?;
    rest.split(['/', '?', '#']).next()
}

/// The host of an authority without userinfo, as written.
fn written_host(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => host,
        _ => authority,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> EndpointError {
        Endpoint::parse(text).expect_err(text)
    }

    #[test]
    fn an_origin_is_normalised_and_the_path_keeps_its_query() {
        let endpoint = Endpoint::parse("HTTPS://Console.Example:443/a/records?x=1").unwrap();
        assert_eq!(endpoint.origin(), "https://console.example");
        assert_eq!(endpoint.path(), "/a/records?x=1");
        assert!(!endpoint.is_loopback());
        let again = Endpoint::parse(&format!("{}{}", endpoint.origin(), endpoint.path())).unwrap();
        assert_eq!(again, endpoint);
        assert_eq!(Endpoint::parse("https://h:8443").unwrap().origin(), "https://h:8443");
        assert_eq!(Endpoint::parse("https://h").unwrap().path(), "/");
    }

    #[test]
    fn plain_http_goes_only_to_a_loopback_host_written_just_so() {
        for text in [
            "http://localhost:4/x",
            "http://LocalHost",
            "http://127.0.0.1",
            "http://[::1]:3/",
            "http://[::1]",
        ] {
            assert!(Endpoint::parse(text).unwrap().is_loopback(), "{text}");
        }
        for text in [
            "http://127.1",
            "http://0x7f.1",
            "http://2130706433",
            "http://0177.0.0.1",
            "http://127.0.0.2",
            "http://%6cocalhost",
            "http://localhost.",
            "http://[0:0:0:0:0:0:0:1]",
            "http://[::ffff:127.0.0.1]",
            "http://localhost.evil.example",
            "http://evil.example/localhost",
        ] {
            assert_eq!(refused(text), EndpointError::NotAllowed, "{text}");
        }
    }

    #[test]
    fn what_hides_the_host_or_carries_a_secret_is_refused() {
        for text in ["http://ｌocalhost", "https://bücher.example"] {
            assert_eq!(refused(text), EndpointError::HostBeyondAscii, "{text}");
        }
        assert!(Endpoint::parse("https://xn--bcher-kva.example").is_ok());
        assert_eq!(refused("https://u:p@h"), EndpointError::UserInfo);
        assert_eq!(refused("https://@h"), EndpointError::UserInfo);
        assert_eq!(refused("http://127.0.0.1:80@evil.example/"), EndpointError::UserInfo);
        assert_eq!(refused("https:///h"), EndpointError::NoHost);
        assert_eq!(refused("https://?q"), EndpointError::NoHost);
        assert_eq!(refused("https:h"), EndpointError::Malformed);
        assert_eq!(refused("https:\\\\h"), EndpointError::Character);
        assert_eq!(refused("https://h/#"), EndpointError::Fragment);
        assert_eq!(refused("https://h/\u{0}"), EndpointError::Character);
        assert_eq!(refused("https://h/\u{a0}x"), EndpointError::Character);
        assert_eq!(refused("file://localhost/etc/passwd"), EndpointError::NotAllowed);
        assert_eq!(refused("https://h:99999"), EndpointError::Malformed);
        assert!(Endpoint::parse("https://h/a@b").is_ok(), "an @ in the path is no userinfo");
    }

    #[test]
    fn debug_shows_the_origin_alone() {
        let endpoint = Endpoint::parse("https://h/secret?token=secret").unwrap();
        assert_eq!(format!("{endpoint:?}"), "Endpoint(https://h)");
    }
}

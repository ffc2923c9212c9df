//! What a set-up asks of the Console's settings: sinks, URL, endpoint, tenant, token and switches, validated by parsing
//! (contract G.1). Each message says what is wrong, where, and what to do; none repeats a value that may be secret.

use std::path::Path;

use crate::settings::destination::{is_safe_tenant, is_safe_token, read_token};
use crate::settings::endpoint::Endpoint;
use crate::settings::env::{Env, vars};
use crate::settings::secret::Secret;

/// The hosted Console, unless `FLOW_AGENTS_KONTOUR_CLOUD_CONSOLE_URL` names another.
pub const HOSTED_URL: &str = "https://console.kontourai.io";
/// A Console on this machine, unless `FLOW_AGENTS_LOCAL_KONTOUR_CONSOLE_URL` names another.
pub const LOCAL_URL: &str = "http://127.0.0.1:3737";

/// Where records go besides the local files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sink {
    /// Local files alone.
    LocalFiles,
    /// The Console on this machine.
    LocalConsole,
    /// The hosted Console.
    Hosted,
    /// A Console of the user's own.
    UserHosted,
}

/// The flags of a set-up that go into the conf, as given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Flags {
    /// `--telemetry-sink`, each value a comma-separated list.
    pub sinks: Vec<String>,
    /// `--console-url`.
    pub url: Option<String>,
    /// `--console-endpoint`.
    pub endpoint: Option<String>,
    /// `--console-tenant`.
    pub tenant: Option<String>,
    /// The token: a file's, or one that was typed.
    pub token: Option<TokenSource>,
    /// `--economics-relay` or `--no-economics-relay`.
    pub economics_relay: Option<bool>,
    /// `--liveness-relay` or `--no-liveness-relay`.
    pub liveness_relay: Option<bool>,
    /// `--events-relay` or `--no-events-relay`.
    pub telemetry_relay: Option<bool>,
    /// `--policies`, one of the words of [`Policies`](crate::settings::policies::Policies).
    pub policies: Option<&'static str>,
}

/// Where the token comes from. It is never an argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenSource {
    /// `--console-token-file`.
    File(std::path::PathBuf),
    /// Typed at the prompt.
    Typed(Secret),
}

/// What the conf is to say; what is `None` stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Change {
    /// Base URL.
    pub url: Option<Address>,
    /// Endpoint of telemetry events.
    pub endpoint: Option<Address>,
    /// Tenant.
    pub tenant: Option<String>,
    /// Token.
    pub token: Option<Secret>,
    /// Switch of the economics relay.
    pub economics_relay: Option<bool>,
    /// Switch of the liveness relay.
    pub liveness_relay: Option<bool>,
    /// Switch of the relay of session events.
    pub telemetry_relay: Option<bool>,
    /// What policies do.
    pub policies: Option<&'static str>,
}

/// A URL that records may go to, and how it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// As written.
    pub text: String,
    /// As parsed.
    pub endpoint: Endpoint,
}

/// A flag that cannot be used; the message is whole.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Mistake(pub String);

impl Sink {
    fn parse(name: &str) -> Result<Self, Mistake> {
        match name {
            "local-files" => Ok(Self::LocalFiles),
            "local-kontour-console" => Ok(Self::LocalConsole),
            "kontour-hosted-console" | "kontour-cloud" => Ok(Self::Hosted),
            "user-hosted-console" | "hosted-kontour-console" => Ok(Self::UserHosted),
            _ => Err(Mistake(format!(
                "unknown telemetry sink: {name:?}; use local-files, local-kontour-console, kontour-hosted-console or \
                 user-hosted-console"
            ))),
        }
    }

    /// The URL that comes with the sink.
    #[must_use]
    pub fn preset(self, env: &Env) -> Option<String> {
        let (var, default) = match self {
            Self::LocalConsole => (&vars::FLOW_AGENTS_LOCAL_KONTOUR_CONSOLE_URL, LOCAL_URL),
            Self::Hosted => (&vars::FLOW_AGENTS_KONTOUR_CLOUD_CONSOLE_URL, HOSTED_URL),
            Self::LocalFiles | Self::UserHosted => return None,
        };
        Some(env.get(var).unwrap_or(default).to_owned())
    }
}

impl Flags {
    /// Whether anything of it was asked.
    #[must_use]
    pub fn any(&self) -> bool {
        *self != Self::default()
    }

    /// Validates the flags. Files are relative to `cwd`.
    ///
    /// # Errors
    /// The first mistake.
    pub fn validate(&self, env: &Env, cwd: &Path) -> Result<Change, Mistake> {
        let sink = self.sink()?;
        if sink == Some(Sink::UserHosted) && self.url.is_none() && self.endpoint.is_none() {
            return Err(Mistake("user-hosted-console requires --console-url or --console-endpoint".into()));
        }
        let preset = sink.and_then(|sink| sink.preset(env)).filter(|_| self.endpoint.is_none());
        let url = self.url.clone().or(preset);
        Ok(Change {
            url: url.map(|text| address("--console-url", &text)).transpose()?,
            endpoint: self.endpoint.as_ref().map(|text| address("--console-endpoint", text)).transpose()?,
            tenant: self.tenant.as_deref().map(tenant).transpose()?,
            token: self.token.as_ref().map(|source| source.read(cwd)).transpose()?,
            economics_relay: self.economics_relay,
            liveness_relay: self.liveness_relay,
            telemetry_relay: self.telemetry_relay,
            policies: self.policies,
        })
    }

    fn sink(&self) -> Result<Option<Sink>, Mistake> {
        let names = self.sinks.iter().flat_map(|list| list.split(',')).map(str::trim);
        let mut chosen: Option<Sink> = None;
        for name in names.filter(|name| !name.is_empty()) {
            let sink = Sink::parse(name)?;
            match chosen {
                Some(other) if other != sink && other != Sink::LocalFiles && sink != Sink::LocalFiles => {
                    return Err(Mistake("select at most one Console telemetry sink".into()));
                }
                Some(other) if other != Sink::LocalFiles => {}
                _ => chosen = Some(sink),
            }
        }
        Ok(chosen)
    }
}

impl TokenSource {
    fn read(&self, cwd: &Path) -> Result<Secret, Mistake> {
        let (token, name) = match self {
            Self::Typed(token) => (token.clone(), "the token".to_owned()),
            Self::File(path) => {
                let token = read_token(&cwd.join(path)).map_err(|what| {
                    Mistake(format!("--console-token-file: {what}; name a file that holds one token"))
                })?;
                (token, format!("--console-token-file: the token in {}", path.display()))
            }
        };
        if token.expose().is_empty() {
            return Err(Mistake(format!("{name} is empty; put the token there, on one line")));
        }
        if is_safe_token(token.expose()) {
            return Ok(token);
        }
        Err(Mistake(format!(
            "{name} is not 1 to 4096 characters of A-Z a-z 0-9 . _ ~ + / = -; copy it again, without quotes or spaces"
        )))
    }
}

/// The URL in `text`, if records may go there.
///
/// # Errors
/// The reason, under `name`.
pub fn address(name: &str, text: &str) -> Result<Address, Mistake> {
    let endpoint = Endpoint::parse(text).map_err(|error| Mistake(format!("{name} {error}")))?;
    Ok(Address { text: text.to_owned(), endpoint })
}

/// The tenant in `text`, if it can be one.
///
/// # Errors
/// The reason.
pub fn tenant(text: &str) -> Result<String, Mistake> {
    if is_safe_tenant(text) {
        return Ok(text.to_owned());
    }
    Err(Mistake(format!(
        "--console-tenant is not 1 to 128 characters of A-Z a-z 0-9 . _ : - (it has {}); use the tenant id that the \
         Console shows",
        text.chars().count()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(sinks: &[&str]) -> Flags {
        Flags { sinks: sinks.iter().map(|sink| (*sink).to_owned()).collect(), ..Flags::default() }
    }

    fn validate(flags: &Flags) -> Result<Change, String> {
        flags.validate(&Env::default(), Path::new("/")).map_err(|mistake| mistake.0)
    }

    fn url(flags: &Flags) -> Option<String> {
        validate(flags).unwrap().url.map(|url| url.text)
    }

    #[test]
    fn a_sink_brings_its_url_and_a_url_beats_it() {
        assert_eq!(url(&flags(&["local-files"])), None);
        assert_eq!(url(&flags(&["local-kontour-console"])).as_deref(), Some("http://127.0.0.1:3737"));
        for name in ["kontour-hosted-console", "kontour-cloud", "local-files,kontour-cloud"] {
            assert_eq!(url(&flags(&[name])).as_deref(), Some("https://console.kontourai.io"), "{name}");
        }
        let own = Flags { url: Some("https://c.example".into()), ..flags(&["kontour-hosted-console"]) };
        assert_eq!(url(&own).as_deref(), Some("https://c.example"));
        let env = Env::from_pairs([("FLOW_AGENTS_LOCAL_KONTOUR_CONSOLE_URL", "http://localhost:9")]);
        let local = flags(&["local-kontour-console"]).validate(&env, Path::new("/")).unwrap();
        assert_eq!(local.url.unwrap().endpoint.origin(), "http://localhost:9");
    }

    #[test]
    fn at_most_one_console_is_selected() {
        let two = flags(&["local-kontour-console", "kontour-cloud"]);
        assert_eq!(validate(&two).unwrap_err(), "select at most one Console telemetry sink");
        assert!(validate(&flags(&["kontour-cloud,kontour-hosted-console", "local-files"])).is_ok());
        assert!(validate(&flags(&["emacs"])).unwrap_err().starts_with("unknown telemetry sink: \"emacs\""));
        for name in ["user-hosted-console", "hosted-kontour-console"] {
            assert!(validate(&flags(&[name])).unwrap_err().contains("requires --console-url"));
        }
    }

    #[test]
    fn urls_and_tenants_are_parsed_and_never_repeated() {
        for text in ["https://user:pa55@c.example", "http://c.example", "c.example", "https://c/\n"] {
            let mistake = validate(&Flags { url: Some(text.into()), ..Flags::default() }).unwrap_err();
            assert!(mistake.starts_with("--console-url ") && !mistake.contains("pa55"), "{mistake}");
        }
        for text in ["", "a b", "a/b", "a\n", "é", &"x".repeat(129)] {
            let mistake = validate(&Flags { tenant: Some(text.into()), ..Flags::default() }).unwrap_err();
            assert!(mistake.contains("1 to 128"), "{text:?}: {mistake}");
        }
        assert!(validate(&Flags { tenant: Some("x".repeat(128)), ..Flags::default() }).is_ok());
    }

    #[test]
    fn a_token_file_holds_one_token_and_no_message_shows_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        let read = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            let token = Some(TokenSource::File("token".into()));
            Flags { token, ..Flags::default() }.validate(&Env::default(), dir.path())
        };
        assert_eq!(read(b"abc==\r\n").unwrap().token.unwrap().expose(), "abc==");
        for bytes in [&b""[..], b"\n", b"two words", b"quoted\"", b"s3cret\nsecond", b"\xff"] {
            let Mistake(text) = read(bytes).unwrap_err();
            assert!(text.starts_with("--console-token-file") && !text.contains("s3cret"), "{text}");
        }
        assert!(read(&[b'x'; 4097]).is_err());
        let gone = Flags { token: Some(TokenSource::File("/gone".into())), ..Flags::default() };
        assert!(validate(&gone).unwrap_err().contains("/gone"));
        let typed = Flags { token: Some(TokenSource::Typed(Secret::new("a b"))), ..Flags::default() };
        assert!(validate(&typed).unwrap_err().starts_with("the token is not"));
    }
}

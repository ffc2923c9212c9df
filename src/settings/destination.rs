//! The destination: Console endpoints, token and tenant, taken whole from one source (DESIGN §6).
//!
//! The first of flag, trusted conf and environment that names a URL gives all of it. Nothing is ever filled in from
//! another source, so an environment that leaks from another tenant changes nothing where a conf is installed.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::conf::Conf;
use super::derive::{Given, Urls};
use super::endpoint::Endpoint;
use super::env::{Env, Var, vars};
use super::secret::Secret;
use crate::sys::files;

/// A token file larger than this cannot hold a token.
const TOKEN_FILE_MAX_BYTES: u64 = 16 * 1024;

/// Where a destination was configured. Its text form (`conf:/path`, `environment`, `flag`) is stored with every
/// outbox entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Command-line flags of this process.
    Flag,
    /// The conf file at this absolute path.
    Conf(PathBuf),
    /// Environment variables.
    Environment,
}

/// A text that is no [`Source`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a destination source: expected `flag`, `environment` or `conf:PATH`")]
pub struct UnknownSource;

/// The destination flags of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Flags {
    /// Base URL of the Console.
    pub console_url: Option<String>,
    /// A file that holds the token; relative to the working directory.
    pub token_file: Option<PathBuf>,
    /// The tenant.
    pub tenant: Option<String>,
}

/// A Console, and whose data goes there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    /// Where it was configured.
    pub source: Source,
    /// Where economics records go.
    pub economics: Option<Endpoint>,
    /// Where liveness records go.
    pub liveness: Option<Endpoint>,
    /// Where telemetry events go.
    pub telemetry: Option<Endpoint>,
    /// The tenant, as configured; [`Destination::load_credential`] says whether it is safe to send.
    pub tenant: Option<String>,
    /// URLs that the allowlist refused, each with the setting's name and the reason.
    pub problems: Vec<String>,
    token: Token,
}

/// Where the token is. A file is read only when the token is needed, so that a hook never reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    None,
    Inline(Secret),
    File(PathBuf),
}

/// Why no request may be made for a destination; the records wait. Never holds a token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unusable(pub String);

impl Destination {
    /// What the flags configure, if they name a URL.
    #[must_use]
    pub fn from_flags(flags: &Flags, cwd: &Path) -> Option<Self> {
        let base = Some(Given { name: "--console-url", text: flags.console_url.as_deref()? });
        let token = flags.token_file.as_ref().map_or(Token::None, |path| Token::File(cwd.join(path)));
        let urls = Urls { base, telemetry_base: base, ..Urls::default() };
        Self::of(Source::Flag, &urls, token, flags.tenant.as_deref())
    }

    /// What the conf configures, if it names a URL.
    #[must_use]
    pub fn from_conf(conf: &Conf) -> Option<Self> {
        let given = |name: &'static str| conf.get(name).map(|text| Given { name, text });
        let base = given("console_telemetry_url");
        let urls = Urls {
            base,
            telemetry_base: base,
            telemetry: given("console_telemetry_endpoint_url"),
            economics: given("console_economics_endpoint_url"),
            liveness: given("console_liveness_endpoint_url"),
        };
        let inline = conf.get("console_telemetry_token");
        let file = conf.get("console_telemetry_token_file").map(Path::new);
        let source = Source::Conf(conf.path().to_path_buf());
        Self::of(source, &urls, Token::first(inline, file), conf.get("console_tenant_id"))
    }

    /// What the environment configures, if it names a URL.
    #[must_use]
    pub fn from_env(env: &Env) -> Option<Self> {
        let given = |var: &Var| env.get(var).map(|text| Given { name: var.name, text });
        let telemetry_base = given(&vars::CONSOLE_TELEMETRY_URL).or_else(|| given(&vars::CONSOLE_URL));
        let urls = Urls {
            base: given(&vars::FLOW_AGENTS_CONSOLE_URL).or(telemetry_base),
            telemetry_base,
            telemetry: given(&vars::CONSOLE_TELEMETRY_ENDPOINT_URL),
            economics: given(&vars::FLOW_AGENTS_CONSOLE_ECONOMICS_ENDPOINT_URL),
            liveness: given(&vars::FLOW_AGENTS_CONSOLE_LIVENESS_ENDPOINT_URL),
        };
        let inline = env.first(&[&vars::CONSOLE_TELEMETRY_TOKEN, &vars::CONSOLE_AUTH_TOKEN]);
        let file = env
            .path(&vars::FLOW_AGENTS_CONSOLE_TOKEN_FILE)
            .or_else(|| env.path(&vars::CONSOLE_TELEMETRY_TOKEN_FILE));
        let tenant = env.first(&[&vars::CONSOLE_TENANT_ID, &vars::FLOW_AGENTS_CONSOLE_TENANT]);
        Self::of(Source::Environment, &urls, Token::first(inline, file), tenant)
    }

    fn of(source: Source, urls: &Urls<'_>, token: Token, tenant: Option<&str>) -> Option<Self> {
        if !urls.any() {
            return None;
        }
        let endpoints = urls.endpoints();
        Some(Self {
            economics: endpoints.economics,
            liveness: endpoints.liveness,
            telemetry: endpoints.telemetry,
            tenant: tenant.map(str::to_owned),
            problems: endpoints.problems.iter().map(|problem| format!("{source}: {problem}")).collect(),
            token,
            source,
        })
    }

    /// Whether any of its endpoints is at `origin`.
    #[must_use]
    pub fn configures(&self, origin: &str) -> bool {
        [&self.economics, &self.liveness, &self.telemetry].into_iter().flatten().any(|e| e.origin() == origin)
    }

    /// Whether a token is configured; it is not looked at.
    #[must_use]
    pub fn has_token(&self) -> bool {
        !matches!(self.token, Token::None)
    }

    /// The file that the token is in, if it is in one of its own.
    #[must_use]
    pub fn token_file(&self) -> Option<&Path> {
        match &self.token {
            Token::File(path) => Some(path),
            _ => None,
        }
    }

    /// Where the tenant's economics can be read, as the Console has it: beside the endpoint that takes the records.
    #[must_use]
    pub fn read_endpoint(&self) -> Option<Endpoint> {
        const PATH: &str = "/api/economics";
        let known = self.economics.as_ref().or(self.liveness.as_ref()).or(self.telemetry.as_ref())?;
        match self.economics.as_ref().and_then(|endpoint| endpoint.url().path().strip_suffix("/records")) {
            Some(base) => Some(known.with_path(&format!("{base}{PATH}")).without_query()),
            None => Some(known.at_origin(PATH)),
        }
    }

    /// Reads and checks the token and the tenant. `Ok(None)`: no token is configured, post without Authorization.
    ///
    /// # Errors
    /// When the token or the tenant is unsafe, or the token file cannot be used: the record waits with that reason.
    pub fn load_credential(&self) -> Result<Option<Secret>, Unusable> {
        let unusable = |what: &str| Unusable(format!("{}: {what}", self.source));
        if self.tenant.as_deref().is_some_and(|tenant| !is_safe_tenant(tenant)) {
            return Err(unusable("the tenant is not 1 to 128 characters of A-Z a-z 0-9 . _ : -"));
        }
        let token = match &self.token {
            Token::None => return Ok(None),
            Token::Inline(secret) => secret.clone(),
            Token::File(path) => read_token(path).map_err(|what| unusable(&what))?,
        };
        if is_safe_token(token.expose()) {
            return Ok(Some(token));
        }
        Err(unusable("the token is not 1 to 4096 characters of A-Z a-z 0-9 . _ ~ + / = -"))
    }
}

/// The token with which an entry that was queued for `origin` and `tenant` may be sent now: `source` is read again
/// (a conf with its trust check) and must still configure that origin and that tenant. `Ok(None)`: it configures no
/// token, post without Authorization.
///
/// # Errors
/// When the source is gone, untrusted, names another origin or tenant, or its credential is unsafe.
pub fn credential_for(
    source: &Source,
    origin: &str,
    tenant: Option<&str>,
    env: &Env,
) -> Result<Option<Secret>, Unusable> {
    let now = match source {
        Source::Flag => None,
        Source::Environment => Destination::from_env(env),
        Source::Conf(path) => {
            let conf = Conf::open(path).map_err(|error| Unusable(error.to_string()))?;
            Destination::from_conf(&conf)
        }
    };
    let Some(now) = now.filter(|now| now.configures(origin)) else {
        return Err(Unusable(format!("{source}: no longer configures {origin}")));
    };
    if now.tenant.as_deref() != tenant {
        return Err(Unusable(format!(
            "{source}: now configures another tenant than the record was queued for"
        )));
    }
    now.load_credential()
}

impl Token {
    fn first(inline: Option<&str>, file: Option<&Path>) -> Self {
        match (inline, file) {
            (Some(token), _) => Self::Inline(Secret::new(token)),
            (None, Some(path)) => Self::File(path.to_path_buf()),
            (None, None) => Self::None,
        }
    }
}

/// Reads a token file: one token, white space around it ignored. Its path is absolute, because the relay worker runs
/// in another directory than the hook.
pub(crate) fn read_token(path: &Path) -> Result<Secret, String> {
    let named = |what: &str| format!("token file {}: {what}", path.display());
    if path.is_relative() {
        return Err(named("the path must be absolute"));
    }
    let bytes = files::read_bounded(path, TOKEN_FILE_MAX_BYTES)
        .map_err(|error| named(&error.to_string()))?
        .ok_or_else(|| named("does not exist"))?;
    let text = String::from_utf8(bytes).map_err(|_| named("is not text"))?;
    Ok(Secret::new(text.trim()))
}

/// Whether `text` can be a bearer token.
pub(crate) fn is_safe_token(text: &str) -> bool {
    (1..=4096).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._~+/=-".contains(&b))
}

/// Whether `text` can be a tenant.
pub(crate) fn is_safe_tenant(text: &str) -> bool {
    (1..=128).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._:-".contains(&b))
}

impl fmt::Display for Source {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag => out.write_str("flag"),
            Self::Conf(path) => write!(out, "conf:{}", path.display()),
            Self::Environment => out.write_str("environment"),
        }
    }
}

impl FromStr for Source {
    type Err = UnknownSource;

    fn from_str(text: &str) -> Result<Self, UnknownSource> {
        match text {
            "flag" => Ok(Self::Flag),
            "environment" => Ok(Self::Environment),
            _ => text.strip_prefix("conf:").map(|path| Self::Conf(path.into())).ok_or(UnknownSource),
        }
    }
}

#[cfg(unix)]
#[cfg(test)]
#[path = "destination_tests.rs"]
mod tests;

//! Who acts: the identity under which claims are made (contract D.6).
//!
//! The first that answers: `FLOW_AGENTS_ACTOR` → the session of the runtime → the job of the CI system → the process
//! that started us. An actor is `runtime:session:host`, each segment sanitised; an explicit one is a single segment.
//! The runtime is named after the variable that its id was found in, so that a Codex session inside Claude Code is not
//! taken for a session of Claude Code.

use crate::settings::env::{Env, Var, vars};
use crate::sys::hex::hex;
use crate::sys::{boot, process};
use sha2::{Digest, Sha256};

/// A resolved identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// The name in events.
    pub name: String,
    /// Where it comes from.
    pub source: String,
}

/// Who acts, and what the user should know of it.
#[derive(Debug, PartialEq, Eq)]
pub struct Resolved {
    /// Who; `None` where nobody can be named.
    pub actor: Option<Actor>,
    /// Why the explicit actor was not taken.
    pub warning: Option<String>,
}

/// A session that a hook's payload names.
#[derive(Debug, Clone, Copy)]
pub struct Session<'a> {
    /// The host that called.
    pub host: &'a str,
    /// Its session id.
    pub id: &'a str,
}

/// Longest segment, in characters.
const SEGMENT: usize = 64;
const UNKNOWN: &str = "unknown";

/// Keeps `[A-Za-z0-9_.-]`, at most 64 of them; `unknown` where none is left.
#[must_use]
pub fn sanitize_segment(text: &str) -> String {
    let kept: String = allowed(text).take(SEGMENT).collect();
    if kept.is_empty() { UNKNOWN.to_owned() } else { kept }
}

fn allowed(text: &str) -> impl Iterator<Item = char> {
    text.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'))
}

/// Works out who acts. A host that names the session only in its payload (`session`) is its runtime all the same.
#[must_use]
pub fn resolve(env: &Env, session: Option<Session<'_>>) -> Resolved {
    if env.get(&vars::FLOW_AGENTS_ACTOR_TEST_FORCE_UNRESOLVED) == Some("1")
        && env.get(&vars::NODE_ENV) == Some("test")
    {
        return Resolved { actor: None, warning: None };
    }
    let mut warning = None;
    if let Some(given) = filled(env, &vars::FLOW_AGENTS_ACTOR) {
        if !given.eq_ignore_ascii_case("local") && allowed(given).next().is_some() {
            let actor = Actor { name: sanitize_segment(given), source: "explicit-override".to_owned() };
            return Resolved { actor: Some(actor), warning };
        }
        warning = Some(
            "FLOW_AGENTS_ACTOR names nobody: give letters, digits, `_`, `.` or `-`, and not `local`"
                .to_owned(),
        );
    }
    let found = runtime(env).or_else(|| of_payload(session)).or_else(|| ci(env)).unwrap_or_else(ancestry);
    let Found { tier, label, session } = found;
    let host = process::hostname();
    let name = [label, session.as_str(), host.as_str()].map(sanitize_segment).join(":");
    let source = if tier == label { tier.to_owned() } else { format!("{tier}:{label}") };
    Resolved { actor: Some(Actor { name, source }), warning }
}

struct Found<'a> {
    tier: &'static str,
    label: &'a str,
    session: String,
}

const RUNTIME: &str = "runtime-session-id";

fn runtime<'a>(env: &Env) -> Option<Found<'a>> {
    let of = |label, session: String| Some(Found { tier: RUNTIME, label, session });
    if let Some(id) = filled(env, &vars::CLAUDE_CODE_SESSION_ID) {
        return of("claude-code", id.to_owned());
    }
    if let Some(id) = filled(env, &vars::CODEX_THREAD_ID) {
        // A thread's id opens it to others; its hash, as flow-agents makes it, names it as well.
        return of("codex", format!("thread-{}", hash(&format!("flow-agents:codex-thread:v1:{id}"), 12)));
    }
    let others = [
        ("codex", &vars::CODEX_SESSION_ID),
        ("opencode", &vars::OPENCODE_SESSION_ID),
        ("pi", &vars::PI_SESSION_ID),
    ];
    others.into_iter().find_map(|(label, var)| of(label, filled(env, var)?.to_owned()))
}

fn of_payload(session: Option<Session<'_>>) -> Option<Found<'_>> {
    let Session { host, id } = session?;
    let usable = allowed(id).next().is_some();
    usable.then(|| Found { tier: RUNTIME, label: host, session: id.to_owned() })
}

/// The job of the CI system that we run in; `None` outside one, and where it names no job.
fn ci<'a>(env: &Env) -> Option<Found<'a>> {
    let is_true = |var| env.get(var) == Some("true");
    let join = |parts: &[&Var]| {
        let parts: Vec<&str> = parts.iter().filter_map(|var| filled(env, var)).collect();
        Some(parts.join("-")).filter(|joined| !joined.is_empty())
    };
    let (label, session) = if is_true(&vars::GITHUB_ACTIONS) {
        let run = [&vars::GITHUB_RUN_ID, &vars::GITHUB_RUN_ATTEMPT, &vars::GITHUB_JOB];
        ("github-actions", join(&run))
    } else if is_true(&vars::GITLAB_CI) {
        ("gitlab-ci", join(&[&vars::CI_JOB_ID]))
    } else if is_true(&vars::CIRCLECI) {
        let job = [&vars::CIRCLE_WORKFLOW_ID, &vars::CIRCLE_JOB, &vars::CIRCLE_NODE_INDEX];
        let named = filled(env, &vars::CIRCLE_WORKFLOW_ID).and_then(|_| join(&job));
        ("circleci", named.or_else(|| join(&[&vars::CIRCLE_BUILD_NUM])))
    } else if filled(env, &vars::JENKINS_URL).is_some() {
        let tag = join(&[&vars::BUILD_TAG]);
        ("jenkins", tag.or_else(|| join(&[&vars::JOB_NAME, &vars::BUILD_ID])))
    } else if env.get(&vars::TF_BUILD).is_some_and(|value| value.eq_ignore_ascii_case("true")) {
        ("azure-pipelines", join(&[&vars::BUILD_BUILDID, &vars::SYSTEM_JOBID]))
    } else if is_true(&vars::BUILDKITE) {
        ("buildkite", join(&[&vars::BUILDKITE_JOB_ID]))
    } else {
        return None;
    };
    Some(Found { tier: "ci-runtime", label, session: session? })
}

/// The process that started us. Its id alone would come back; with its start and the boot it names one process.
fn ancestry<'a>() -> Found<'a> {
    let parent = process::parent_id();
    let session = match process::start_ticks(parent) {
        Some(ticks) => {
            let boot = boot::id().unwrap_or_default();
            format!("anc-{}", hash(&format!("{boot}:{parent}:{ticks}"), 6))
        }
        None => format!("pid-only-{parent}"),
    };
    Found { tier: "process-ancestry", label: "process-ancestry", session }
}

fn filled<'a>(env: &'a Env, var: &Var) -> Option<&'a str> {
    env.get(var).map(str::trim).filter(|value| !value.is_empty())
}

/// The first `bytes` bytes of the SHA-256 of `text`, in hexadecimal.
pub(super) fn hash(text: &str, bytes: usize) -> String {
    hex(Sha256::digest(text.as_bytes()).get(..bytes).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn rows(text: &str) -> Vec<Value> {
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn golden_sanitize_segment() {
        for row in rows(include_str!("../../tests/fixtures/flow-agents/golden/sanitize-segment.jsonl")) {
            let input = row["input"].as_str().map_or_else(
                || if row["input"].is_null() { String::new() } else { row["input"].to_string() },
                str::to_owned,
            );
            assert_eq!(row["output"], sanitize_segment(&input), "{row}");
        }
    }

    /// Where Tally answers otherwise; the reasons are in docs/differences/liveness.md.
    const OURS: [(&str, &str, &str); 2] = [
        (r#"{"CLAUDECODE":"1","CODEX_SESSION_ID":"cx"}"#, "codex:cx:<host>", "runtime-session-id:codex"),
        (
            r#"{"BUILD_BUILDID":"9","SYSTEM_JOBID":"g","TF_BUILD":"True"}"#,
            "azure-pipelines:9-g:<host>",
            "ci-runtime:azure-pipelines",
        ),
    ];

    #[test]
    fn golden_actor_identity() {
        let host = sanitize_segment(&process::hostname());
        let mut differences = 0;
        for row in rows(include_str!("../../tests/fixtures/flow-agents/golden/actor-identity.jsonl")) {
            let pairs = row["env"].as_object().unwrap().iter();
            let env = Env::from_pairs(pairs.map(|(name, value)| (name, value.as_str().unwrap())));
            let ours =
                OURS.iter().find(|(env, ..)| row["env"] == serde_json::from_str::<Value>(env).unwrap());
            let theirs = (row["6.x"]["actor"].as_str().unwrap(), row["6.x"]["source"].as_str().unwrap());
            let (name, source) = ours.map_or(theirs, |(_, name, source)| (name, source));
            if ours.is_some() {
                assert_ne!((name, source), theirs, "{row} is no difference");
                differences += 1;
            }
            let Some(actor) = resolve(&env, None).actor else {
                assert_eq!(name, "", "{row}");
                continue;
            };
            assert_eq!(actor.source, source, "{row}");
            let shown =
                actor.name.strip_suffix(&host).map(|rest| format!("{rest}<host>")).unwrap_or(actor.name);
            match name.split_once("<12hex>") {
                None => assert_eq!(shown, name, "{row}"),
                Some((before, after)) => {
                    let seed = shown.strip_prefix(before).and_then(|rest| rest.strip_suffix(after)).unwrap();
                    assert!(seed.len() == 12 && seed.bytes().all(|byte| byte.is_ascii_hexdigit()), "{shown}");
                }
            }
        }
        assert_eq!(differences, OURS.len());
    }

    #[test]
    fn an_explicit_actor_that_names_nobody_is_said_once_and_passed_over() {
        let env = Env::from_pairs([("FLOW_AGENTS_ACTOR", " Local "), ("PI_SESSION_ID", "p")]);
        let resolved = resolve(&env, None);
        assert!(resolved.warning.unwrap().contains("FLOW_AGENTS_ACTOR"));
        assert_eq!(resolved.actor.unwrap().source, "runtime-session-id:pi");
    }

    #[test]
    fn a_payload_names_the_session_that_the_environment_does_not() {
        let session = Some(Session { host: "claude-code", id: "abc" });
        let of = |env: Env| resolve(&env, session).actor.unwrap().name;
        assert!(of(Env::default()).starts_with("claude-code:abc:"));
        assert!(of(Env::from_pairs([("CLAUDE_CODE_SESSION_ID", "other")])).starts_with("claude-code:other:"));
    }
}

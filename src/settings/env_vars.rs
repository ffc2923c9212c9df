//! The table of every environment variable that Tally reads. The names are those of flow-agents (contract F.4 and
//! C.5) wherever it has one, so that Tally drops in beside it.

use super::{Group, Var};

/// Declares the variables as constants named like themselves, and [`GROUPS`] over all of them.
macro_rules! environment {
    ($($title:literal { $($name:ident: $doc:literal, unset: $default:literal;)+ })+) => {
        $($(
            #[doc = $doc]
            pub const $name: Var = Var { name: stringify!($name), default: $default, doc: $doc };
        )+)+

        /// Every variable, in the order of the reference page.
        pub const GROUPS: &[Group] = &[$(Group { title: $title, vars: &[$(&$name),+] }),+];
    };
}

environment! {
    "Where files are" {
        TELEMETRY_WORKSPACE_ROOT: "The workspace, whose `.kontourai/` folder holds the journals and the conf.",
            unset: "the shared root of the git repository, else the nearest folder with `.kontourai/`, else the working directory";
        TELEMETRY_DATA_DIR: "The folder of journals, session state and outbox.",
            unset: "`<workspace>/.kontourai/telemetry`";
        TELEMETRY_ECONOMICS_LOG_FILE: "The economics journal.",
            unset: "`economics.jsonl` in the data directory";
        TELEMETRY_CONFIG_FILE: "The only conf file to read. It must be trusted; when it is missing, no conf is read at all.",
            unset: "`<workspace>/.kontourai/telemetry-console.conf`, else `~/.flow-agents/telemetry-console.conf`";
        CLAUDE_CONFIG_DIR: "Where Claude Code keeps its transcripts and settings.",
            unset: "`~/.claude`";
        CODEX_HOME: "Where Codex keeps its rollouts and settings.",
            unset: "`~/.codex`";
        XDG_CONFIG_HOME: "Where opencode keeps its configuration, for `tally init`.",
            unset: "`~/.config`";
        XDG_DATA_HOME: "Where opencode keeps its data.",
            unset: "`~/.local/share`";
        TMPDIR: "Where temporary files are: a command may write there what looks like a protected file.",
            unset: "`/tmp`";
        SA_PROTECTED_WORKSPACE_ROOTS: "More workspaces whose files the policies protect, separated by `:` or `,`.",
            unset: "only the one that a command runs in";
        HOME: "The user's home: the user-global conf, and where hosts keep their transcripts.",
            unset: "neither is looked for";
        XDG_STATE_HOME: "Where state goes when the workspace cannot be written.",
            unset: "`~/.local/state`";
    }
    "What is recorded" {
        TELEMETRY_ENABLED: "Switch: off makes hooks emit nothing; explicit commands still work.",
            unset: "the conf key `enabled`, else on";
        TELEMETRY_CHANNELS: "The channels of session events that are written, with commas: `full`, `analytics`.",
            unset: "the conf key `channels`, else both";
        TELEMETRY_CHANNEL_FULL_LOG_FILE: "The file of the channel `full`.",
            unset: "the conf key `channel.full.log_file`, else `full.jsonl` in the data directory";
        TELEMETRY_CHANNEL_FULL_REDACT: "What is taken out of the channel `full`: paths with commas, or `none`.",
            unset: "the conf key `channel.full.redact`, else `hook.raw_input,turn.prompt_text,tool.input,tool.output`";
        TELEMETRY_CHANNEL_ANALYTICS_LOG_FILE: "The file of the channel `analytics`.",
            unset: "the conf key `channel.analytics.log_file`, else `analytics.jsonl` in the data directory";
        TELEMETRY_CHANNEL_ANALYTICS_REDACT: "What is taken out of the channel `analytics`: paths with commas, or `none`.",
            unset: "the conf key `channel.analytics.redact`, else prompts, inputs, outputs, queries, messages and paths (docs/events.md)";
        FLOW_AGENTS_TELEMETRY_CAPTURE_RAW_HOOK_INPUT: "Switch: on puts the host's payload as it came into `hook.raw_input`.",
            unset: "off";
        TELEMETRY_MAX_LOG_SIZE_MB: "Size at which a journal is rotated, in whole MiB.",
            unset: "the conf key `max_log_size_mb`, else 50";
        TELEMETRY_MAX_LOG_FILES: "Rotated files that are kept of each journal; at least 1.",
            unset: "the conf key `max_log_files`, else 3";
        FLOW_AGENTS_PROJECT: "The project label of every record.",
            unset: "worked out from the repository";
        FLOW_AGENTS_LIVENESS: "Switch for claims and heartbeats: `off`, `0`, `false`, `no` or `disabled` stops them.",
            unset: "on";
        FLOW_AGENTS_LIVENESS_TTL_SECONDS: "How long a claim stays fresh after its last heartbeat, in seconds.",
            unset: "1800";
        FLOW_AGENTS_LIVENESS_HEARTBEAT_THROTTLE_SECONDS: "The least time between two heartbeats of one claim, in seconds.",
            unset: "60";
    }
    "Who acts" {
        FLOW_AGENTS_ACTOR: "The actor of claims and heartbeats; `local` names nobody.",
            unset: "the session of the runtime, else the CI job, else the process that started Tally";
        CLAUDE_CODE_SESSION_ID: "The actor's session in Claude Code; set by it.",
            unset: "`CODEX_THREAD_ID`";
        CODEX_THREAD_ID: "The actor's thread in Codex, of which only a hash is kept; set by it.",
            unset: "`CODEX_SESSION_ID`";
        CODEX_SESSION_ID: "The actor's session in Codex; set by it.",
            unset: "`OPENCODE_SESSION_ID`";
        OPENCODE_SESSION_ID: "The actor's session in opencode; set by it.",
            unset: "`PI_SESSION_ID`";
        PI_SESSION_ID: "The actor's session in pi; set by it.",
            unset: "the CI job";
        GITHUB_ACTIONS: "`true` in a job of GitHub Actions.",
            unset: "not such a job";
        GITHUB_RUN_ID: "The first part of such a job's actor.",
            unset: "left out";
        GITHUB_RUN_ATTEMPT: "The second part of such a job's actor.",
            unset: "left out";
        GITHUB_JOB: "The third part of such a job's actor.",
            unset: "left out";
        GITLAB_CI: "`true` in a job of GitLab CI.",
            unset: "not such a job";
        CI_JOB_ID: "Such a job's actor.",
            unset: "such a job is nobody";
        CIRCLECI: "`true` in a job of CircleCI.",
            unset: "not such a job";
        CIRCLE_WORKFLOW_ID: "The first part of such a job's actor.",
            unset: "`CIRCLE_BUILD_NUM`";
        CIRCLE_JOB: "The second part of such a job's actor.",
            unset: "left out";
        CIRCLE_NODE_INDEX: "The third part of such a job's actor.",
            unset: "left out";
        CIRCLE_BUILD_NUM: "The actor of such a job that names no workflow.",
            unset: "such a job is nobody";
        JENKINS_URL: "Any value: this is a job of Jenkins.",
            unset: "not such a job";
        BUILD_TAG: "Such a job's actor.",
            unset: "`JOB_NAME` and `BUILD_ID`";
        JOB_NAME: "The first part of the actor of such a job without a tag.",
            unset: "left out";
        BUILD_ID: "The second part of the actor of such a job without a tag.",
            unset: "left out";
        TF_BUILD: "`True` in a job of Azure Pipelines.",
            unset: "not such a job";
        BUILD_BUILDID: "The first part of such a job's actor.",
            unset: "left out";
        SYSTEM_JOBID: "The second part of such a job's actor.",
            unset: "left out";
        BUILDKITE: "`true` in a job of Buildkite.",
            unset: "not such a job";
        BUILDKITE_JOB_ID: "Such a job's actor.",
            unset: "such a job is nobody";
        FLOW_AGENTS_ACTOR_TEST_FORCE_UNRESOLVED: "For tests, together with `NODE_ENV=test`: `1` makes everybody nobody.",
            unset: "an actor is worked out";
        NODE_ENV: "See `FLOW_AGENTS_ACTOR_TEST_FORCE_UNRESOLVED`.",
            unset: "no test";
    }
    "Pricing" {
        TELEMETRY_PRICING_FILE: "A pricing registry to use instead of the bundled one.",
            unset: "`FLOW_AGENTS_PRICING_FILE`, else the conf key `pricing_file`";
        FLOW_AGENTS_PRICING_FILE: "Second name of `TELEMETRY_PRICING_FILE`.",
            unset: "see there";
        TELEMETRY_PRICING_URL: "Where to fetch the pricing registry; the same allowlist as for a Console.",
            unset: "`FLOW_AGENTS_PRICING_URL`, else the conf keys `console_pricing_url`, `pricing_url`";
        FLOW_AGENTS_PRICING_URL: "Second name of `TELEMETRY_PRICING_URL`.",
            unset: "see there";
        TELEMETRY_PRICING_TTL_SEC: "How long a fetched registry is used before it is fetched again, in seconds.",
            unset: "3600";
    }
    "The destination" {
        DO_NOT_TRACK: "Any value but `0` and `false`: nothing leaves the machine and nothing is queued.",
            unset: "the relay switches decide";
        FLOW_AGENTS_CONSOLE_URL: "Base URL of the Console, for economics and liveness.",
            unset: "`CONSOLE_TELEMETRY_URL`";
        CONSOLE_TELEMETRY_URL: "Base URL of the Console.",
            unset: "`CONSOLE_URL`";
        CONSOLE_URL: "Second name of `CONSOLE_TELEMETRY_URL`.",
            unset: "no Console by its base URL";
        FLOW_AGENTS_LOCAL_KONTOUR_CONSOLE_URL: "The URL that `tally init` takes for the Console on this machine.",
            unset: "`http://127.0.0.1:3737`";
        FLOW_AGENTS_KONTOUR_CLOUD_CONSOLE_URL: "The URL that `tally init` takes for the hosted Console.",
            unset: "`https://console.kontourai.io`";
        CONSOLE_TELEMETRY_ENDPOINT_URL: "Endpoint of telemetry events, as it is.",
            unset: "`/api/telemetry/records` under the base URL";
        FLOW_AGENTS_CONSOLE_ECONOMICS_ENDPOINT_URL: "Endpoint of economics records, as it is.",
            unset: "`/records` under the base URL, else at the origin of `CONSOLE_TELEMETRY_ENDPOINT_URL`";
        FLOW_AGENTS_CONSOLE_LIVENESS_ENDPOINT_URL: "Endpoint of liveness records, as it is.",
            unset: "as for economics";
        CONSOLE_TELEMETRY_TOKEN: "Bearer token, sent only to the origins that the environment names.",
            unset: "`CONSOLE_AUTH_TOKEN`";
        CONSOLE_AUTH_TOKEN: "Second name of `CONSOLE_TELEMETRY_TOKEN`.",
            unset: "the token file";
        FLOW_AGENTS_CONSOLE_TOKEN_FILE: "Absolute path of a file that holds the token.",
            unset: "`CONSOLE_TELEMETRY_TOKEN_FILE`";
        CONSOLE_TELEMETRY_TOKEN_FILE: "Second name of `FLOW_AGENTS_CONSOLE_TOKEN_FILE`.",
            unset: "posts carry no Authorization";
        CONSOLE_TENANT_ID: "Tenant of the records.",
            unset: "`FLOW_AGENTS_CONSOLE_TENANT`";
        FLOW_AGENTS_CONSOLE_TENANT: "Second name of `CONSOLE_TENANT_ID`.",
            unset: "the token's own tenant";
    }
    "The relay" {
        FLOW_AGENTS_CONSOLE_ECONOMICS_RELAY: "Switch of the economics relay; the conf key `console_economics_relay` beats it.",
            unset: "on as soon as a Console URL resolves";
        FLOW_AGENTS_CONSOLE_TELEMETRY_RELAY: "Switch of the relay of session events; the conf key `console_telemetry_relay` beats it.",
            unset: "on as soon as a Console URL resolves";
        CONSOLE_TELEMETRY_REDACT: "What is taken out of the session events that leave: paths with commas, or `none`.",
            unset: "the conf key `console_telemetry_redact`, else as for the channel `analytics`, whatever is set there";
        FLOW_AGENTS_CONSOLE_LIVENESS_RELAY: "Switch of the liveness relay; the conf key `console_liveness_relay` beats it.",
            unset: "off";
        FLOW_AGENTS_TELEMETRY_FOREGROUND: "Switch: on makes the relay run before the hook returns (CI, scripts, tests).",
            unset: "off";
        CONSOLE_TELEMETRY_CONNECT_TIMEOUT_SECONDS: "Time to connect, 1 to 30 seconds.",
            unset: "2";
        CONSOLE_TELEMETRY_MAX_TIME_SECONDS: "Time for a whole request, 1 to 60 seconds.",
            unset: "5";
        TALLY_RELAY_WORKER: "Set by Tally in its relay worker, so that a worker never starts another.",
            unset: "this process is not a worker";
    }
    "Policies" {
        SA_HOOK_PROFILE: "The profile of hooks: `minimal`, `standard` or `strict`. `tally run-hook` runs a hook only in the profiles that it names.",
            unset: "`standard`";
        SA_DISABLED_HOOKS: "Hooks that `tally run-hook` does not run: their ids, with commas.",
            unset: "all run";
        SA_HOOK_INPUT_TRUNCATED: "`1`: whoever calls `tally run-hook` has cut the payload off already.",
            unset: "the payload is as long as it came";
        SA_QUALITY_GATE_FIX: "`true`: quality-gate formats the file instead of checking it.",
            unset: "it only checks";
        SA_QUALITY_GATE_STRICT: "`true`: quality-gate says what failed, and checks Go as well.",
            unset: "it says nothing";
        FLOW_AGENTS_GOAL_FIT_MODE: "What stop-goal-fit does: `block`, `warn` or `off`.",
            unset: "`block` if `FLOW_AGENTS_GOAL_FIT_STRICT` is `true`, else the conf key `policies`, else `warn`";
        FLOW_AGENTS_GOAL_FIT_STRICT: "`true`: stop-goal-fit blocks.",
            unset: "see `FLOW_AGENTS_GOAL_FIT_MODE`";
        FLOW_AGENTS_GOAL_FIT_MAX_BLOCKS: "How often stop-goal-fit refuses a stop for the same findings, of those that may be let go.",
            unset: "3";
        FLOW_AGENTS_GOAL_FIT_BACKSTOP: "What comes of a command that was claimed to pass and never seen to run: `block` runs it, `off` runs it and only warns, `skip` does not run it.",
            unset: "`block`";
        FLOW_AGENTS_GOAL_FIT_BACKSTOP_TIMEOUT_MS: "How long such a command may take, in milliseconds.",
            unset: "120000";
        FLOW_AGENTS_GOAL_FIT_RECHECK: "`true`: where the project does not say how to check a claim, the claimed command itself is run.",
            unset: "it is not";
        FLOW_AGENTS_REQUIRE_SIDECARS: "`true`: a session must have its state, its acceptance criteria and its evidence.",
            unset: "it need not";
        FLOW_AGENTS_REQUIRE_CRITIQUE: "`true`: a session must have been reviewed.",
            unset: "it need not";
    }
    "Runs and terminals" {
        TALLY_CLOCK_MS: "Freezes the clock at this time, in epoch milliseconds, for repeatable runs.",
            unset: "the clock runs";
        NO_COLOR: "Any value: no colour, even on a terminal.",
            unset: "colour on a terminal";
        COLUMNS: "Width of tables, in characters.",
            unset: "the width of the terminal";
    }
}

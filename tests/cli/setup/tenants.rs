//! Two tenants side by side against one Console: what is sent carries its own tenant and token, or is not sent.

use super::console::Console;
use super::*;
use crate::transcript::Transcript;

#[test]
fn an_environment_that_leaks_changes_nothing_where_a_conf_is_installed() {
    let console = Console::start(&[("token-a", "a"), ("token-b", "b")]);
    let mut machines = vec![];
    for (name, other) in [("a", "b"), ("b", "a")] {
        let mut env = TestEnv::new();
        let token = token_file(&env, &format!("token-{name}"));
        init(
            &env,
            &["--console-url", &console.url, "--console-token-file", &token, "--console-tenant", name],
            0,
        );
        env.set("CONSOLE_TELEMETRY_URL", console.url.clone());
        env.set("CONSOLE_TELEMETRY_TOKEN", format!("token-{other}"));
        env.set("CONSOLE_TENANT_ID", other);
        machines.push(env);
    }
    for (env, name) in machines.iter().zip(["a", "b"]) {
        let mut transcript = Transcript::new(env, &format!("session-of-{name}"));
        transcript.prompt().call(&format!("m-{name}"), "claude-opus-4-8", [1, 2, 3]);
        transcript.stop(env);
        env.run(&["relay", "flush", "--timeout", "20"]);
    }
    let posts = console.posts();
    assert_eq!(posts.len(), 2);
    for post in posts {
        let body: Value = serde_json::from_str(&post.body).unwrap();
        let tenant = post.tenant.as_deref().unwrap();
        assert_eq!(body["session_id"], format!("session-of-{tenant}"));
        assert_eq!(
            (post.token.as_deref(), body["tenant_id"].as_str()),
            (Some(format!("token-{tenant}").as_str()), Some(tenant))
        );
    }
}

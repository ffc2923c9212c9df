//! Credentials for the tests. None was ever issued: they are put together from parts, so that no scanner takes this file for a leak.

/// `length` letters and digits that follow no pattern that a test could lean on.
pub(super) fn random(length: usize, alphabet: &str) -> String {
    let letters: Vec<char> = alphabet.chars().collect();
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    let next = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        letters[usize::try_from(state % letters.len() as u64).unwrap()]
    };
    (0..length).map(next).collect()
}

pub(super) const ALNUM: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const WORD: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
const CAPITALS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
pub(super) const HEX: &str = "0123456789abcdef";

pub(super) fn pem(title: &str) -> String {
    let dashes = "-----";
    format!(
        "{dashes}BEGIN {title}{dashes}\n{}\n{}==\n{dashes}END {title}{dashes}",
        random(64, ALNUM),
        random(20, ALNUM)
    )
}

fn jwt() -> String {
    format!("eyJ{}.eyJ{}.{}", random(33, ALNUM), random(90, WORD), random(43, WORD))
}

/// Each form that is masked wherever it stands, with its kind and, where it is only a part, what must be gone.
pub(super) fn forms() -> Vec<(&'static str, String)> {
    let with = |prefix: &str, length, alphabet| format!("{prefix}{}", random(length, alphabet));
    vec![
        ("anthropic-key", format!("{}AA", with("sk-ant-api03-", 93, WORD))),
        ("openai-key", with("sk-", 48, ALNUM)),
        ("openai-key", with("sk-proj-", 156, WORD)),
        ("openai-key", with("sk-or-v1-", 64, HEX)),
        ("openai-key", with("sk-", 32, HEX)),
        ("github-token", with("ghp_", 36, ALNUM)),
        ("github-token", with("gho_", 36, ALNUM)),
        ("github-token", with("ghs_", 36, ALNUM)),
        ("github-token", format!("github_pat_{}_{}", random(22, ALNUM), random(59, ALNUM))),
        ("gitlab-token", with("glpat-", 20, WORD)),
        ("gitlab-token", format!("{}.01.{}", with("glpat-", 27, WORD), random(9, ALNUM))),
        (
            "slack-token",
            format!("xoxb-{}-{}-{}", random(12, "0123456789"), random(13, "0123456789"), random(24, ALNUM)),
        ),
        ("slack-token", with("xoxp-", 50, ALNUM)),
        ("slack-token", with("xoxa-", 50, ALNUM)),
        ("slack-token", with("xoxr-", 50, ALNUM)),
        ("slack-token", with("xoxs-", 50, ALNUM)),
        ("aws-key", with("AKIA", 16, CAPITALS)),
        ("aws-key", with("ASIA", 16, CAPITALS)),
        ("google-key", with("AIza", 35, WORD)),
        ("google-secret", with("GOCSPX-", 28, WORD)),
        ("gitlab-token", with("glrt-", 20, WORD)),
        ("groq-key", with("gsk_", 52, ALNUM)),
        ("xai-key", with("xai-", 80, ALNUM)),
        ("linear-key", with("lin_api_", 40, ALNUM)),
        ("notion-token", with("ntn_", 46, ALNUM)),
        ("vault-token", with("hvs.", 90, WORD)),
        ("npm-token", with("npm_", 36, ALNUM)),
        ("pypi-token", with("pypi-AgEIcHlwaS5vcmc", 150, WORD)),
        ("huggingface-token", with("hf_", 34, ALNUM)),
        ("sendgrid-key", format!("{}.{}", with("SG.", 22, WORD), random(43, WORD))),
        ("stripe-key", with("sk_live_", 24, ALNUM)),
        ("stripe-key", with("rk_live_", 99, ALNUM)),
        ("stripe-key", with("sk_test_", 24, ALNUM)),
        ("digitalocean-token", with("dop_v1_", 64, HEX)),
        ("docker-token", with("dckr_pat_", 27, WORD)),
        ("shopify-token", with("shpat_", 32, HEX)),
        ("age-key", with("AGE-SECRET-KEY-1", 58, CAPITALS)),
        ("jwt", jwt()),
        ("private-key", pem("RSA PRIVATE KEY")),
        ("private-key", pem("PRIVATE KEY")),
        ("private-key", pem("OPENSSH PRIVATE KEY")),
        ("private-key", pem("PGP PRIVATE KEY BLOCK")),
    ]
}

//! One name per model: the spellings of hosts and providers reduced to the id that a registry lists (pricing
//! reference §6). What is left is matched exactly, never by prefix or likeness.

/// The id of a call whose transcript names no model. It never has a price.
pub const UNKNOWN: &str = "unknown";

/// Where a cloud profile serves the model from; decides the Bedrock premium.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Region {
    /// The id names no profile.
    #[default]
    None,
    /// A regional profile: `us.`, `eu.`, `apac.`, `jp.`, `au.`, `us-gov.`.
    Regional,
    /// The global profile, at list price.
    Global,
}

/// A model id in its canonical spelling, and what the raw spelling said besides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelId {
    /// The canonical id; [`UNKNOWN`] when the raw one is empty.
    pub id: String,
    /// The cloud profile.
    pub region: Region,
    /// Whether the spelling itself asked for fast mode. Only a registry can tell, so [`canonical`] never sets it.
    pub fast: bool,
}

const PROFILES: [(&str, Region); 7] = [
    ("us.", Region::Regional),
    ("eu.", Region::Regional),
    ("apac.", Region::Regional),
    ("jp.", Region::Regional),
    ("au.", Region::Regional),
    ("us-gov.", Region::Regional),
    ("global.", Region::Global),
];

/// Reduces `raw` to its canonical spelling. An unlisted model keeps what is left (`glm-5.2`).
#[must_use]
pub fn canonical(raw: &str) -> ModelId {
    let lower = raw.trim().to_ascii_lowercase();
    let name = without_bracket(&lower);
    let name = name.rsplit('/').next().unwrap_or(name);
    let (name, region) = PROFILES
        .iter()
        .find_map(|(prefix, region)| name.strip_prefix(prefix).map(|rest| (rest, *region)))
        .unwrap_or((name, Region::None));
    let name = without_release(name.strip_prefix("anthropic.").unwrap_or(name));
    let id = match name.trim() {
        "" => UNKNOWN.to_owned(),
        claude if claude.starts_with("claude-") => claude_spelling(claude),
        other => other.to_owned(),
    };
    ModelId { id, region, fast: false }
}

/// The generation of a Claude id (`claude-opus-4-8` → 4, 8); `None` for other ids and for the order used before 4.
pub(crate) fn claude_generation(id: &str) -> Option<(u32, u32)> {
    let (family, number) = id.strip_prefix("claude-")?.split_once('-')?;
    let mut parts = number.split('-').map_while(|part| part.parse().ok());
    let major = parts.next().filter(|_| !is_number(family))?;
    Some((major, parts.next().unwrap_or(0)))
}

/// `claude-opus-4-6[1m]` → `claude-opus-4-6`.
fn without_bracket(name: &str) -> &str {
    match name.strip_suffix(']').and_then(|open| open.rsplit_once('[')) {
        Some((base, _)) => base.trim_end(),
        None => name,
    }
}

/// Drops release marks from the end until none is left: `-v1:0`, `@20250929`, `-20250929`, `-2025-04-14`, `-latest`.
fn without_release(mut name: &str) -> &str {
    while let Some(shorter) = strip_release(name) {
        name = shorter;
    }
    name
}

fn strip_release(name: &str) -> Option<&str> {
    if let Some((base, version)) = name.split_once('@') {
        return (matches!(version, "latest" | "default") || is_date(version)).then_some(base);
    }
    let (base, last) = name.rsplit_once('-')?;
    if last == "latest" || is_date(last) || is_bedrock_version(name, last) {
        return Some(base);
    }
    let (base, date) = name.split_at_checked(name.len().checked_sub("-2025-04-14".len())?)?;
    (date.starts_with('-') && is_date(&date.replace('-', ""))).then_some(base)
}

/// `v1:0` anywhere; a bare `v1` only on Claude, because `deepseek-v3` is a model of its own.
fn is_bedrock_version(name: &str, last: &str) -> bool {
    let Some(version) = last.strip_prefix('v') else { return false };
    match version.split_once(':') {
        Some((major, minor)) => is_number(major) && is_number(minor),
        None => name.starts_with("claude-") && is_number(version),
    }
}

fn is_date(text: &str) -> bool {
    text.len() == 8 && text.starts_with("20") && is_number(text)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Dots to dashes, and from generation 4 on the family before the number: `claude-4.6-opus` → `claude-opus-4-6`.
fn claude_spelling(name: &str) -> String {
    let dashed = name.replace('.', "-");
    let parts: Vec<&str> = dashed.split('-').skip(1).collect();
    let numbers = parts.iter().take_while(|part| is_number(part)).count();
    let major = parts.first().and_then(|part| part.parse::<u32>().ok());
    match (parts.split_at_checked(numbers), major) {
        (Some((generation, [family, rest @ ..])), Some(4..)) => {
            let ordered: Vec<&str> = ["claude", family]
                .into_iter()
                .chain(generation.iter().copied())
                .chain(rest.iter().copied())
                .collect();
            ordered.join("-")
        }
        _ => dashed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn spellings_of_one_model_share_an_id() {
        for (raw, id) in [
            ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
            ("claude-opus-4-6[1m]", "claude-opus-4-6"),
            (" Claude-Opus-4-6 ", "claude-opus-4-6"),
            ("anthropic/claude-haiku-4.5", "claude-haiku-4-5"),
            ("openrouter/anthropic/claude-sonnet-4.5", "claude-sonnet-4-5"),
            ("global.anthropic.claude-opus-4-5-20251101-v1:0", "claude-opus-4-5"),
            ("us.anthropic.claude-sonnet-4-20250514-v1:0", "claude-sonnet-4"),
            ("anthropic.claude-opus-4-6-v1", "claude-opus-4-6"),
            ("bedrock/us-gov.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"),
            ("vertex_ai/claude-opus-4-5@20251101", "claude-opus-4-5"),
            ("claude-opus-4-5@default", "claude-opus-4-5"),
            ("claude-3-5-sonnet-v2@20241022", "claude-3-5-sonnet"),
            ("claude-3-7-sonnet-latest", "claude-3-7-sonnet"),
            ("claude-3.7-sonnet", "claude-3-7-sonnet"),
            ("claude-4.6-opus", "claude-opus-4-6"),
            ("claude-4-sonnet-20250514", "claude-sonnet-4"),
            ("claude-4.6-opus-fast", "claude-opus-4-6-fast"),
            ("gpt-4.1-2025-04-14", "gpt-4.1"),
            ("openai/gpt-5.5", "gpt-5.5"),
            ("glm-5.2", "glm-5.2"),
            ("deepseek-v3", "deepseek-v3"),
            ("claude-opus-4-55", "claude-opus-4-55"),
            ("<synthetic>", "<synthetic>"),
            ("", UNKNOWN),
            ("  ", UNKNOWN),
            ("[1m]", UNKNOWN),
        ] {
            assert_eq!(canonical(raw).id, id, "{raw}");
        }
    }

    #[test]
    fn the_profile_is_remembered() {
        for (raw, region) in [
            ("eu.anthropic.claude-opus-4-6-v1", Region::Regional),
            (
                "arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-opus-4-6-v1",
                Region::Regional,
            ),
            ("global.anthropic.claude-opus-4-6-v1", Region::Global),
            ("anthropic.claude-opus-4-6-v1", Region::None),
            ("claude-opus-4-6", Region::None),
        ] {
            assert_eq!(canonical(raw).region, region, "{raw}");
        }
    }

    #[test]
    fn generations_are_read_from_the_new_order_only() {
        assert_eq!(claude_generation("claude-opus-4-8"), Some((4, 8)));
        assert_eq!(claude_generation("claude-sonnet-5"), Some((5, 0)));
        assert_eq!(claude_generation("claude-3-7-sonnet"), None);
        assert_eq!(claude_generation("gpt-5.5"), None);
    }

    proptest! {
        #[test]
        fn any_text_becomes_an_id_without_blank_ends(raw in "[ -~é]{0,40}") {
            let once = canonical(&raw).id;
            prop_assert!(!once.is_empty());
            prop_assert_eq!(once.trim(), once.as_str());
        }
    }
}

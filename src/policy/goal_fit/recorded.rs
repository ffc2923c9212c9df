//! What a session's own files say: its state, its evidence, its review.

use super::bundle::{Bundle, Claim, Said};
use super::finding::{Finding, Kind, Weight};
use super::flow::Gate;
use super::settings::Settings;
use super::sidecars;
use super::subject::{Doc, Subject};
use crate::policy::{receipt, text};
use serde_json::{Map, Value};

/// Statuses of a page that is worked on.
const ACTIVE: [&str; 11] = [
    "planning",
    "planned",
    "executing",
    "executed",
    "reviewing",
    "verifying",
    "failed",
    "needs-decision",
    "in-progress",
    "blocked",
    "partial",
];
/// Longest text of a sidecar that is repeated.
const LONG: usize = 240;
/// Findings of one kind that are said.
const MOST: usize = 4;

/// Whether a claim is of a check: of a kind that says so, or one that the gate expects.
pub(super) fn is_check(claim: &Claim<'_>, gate: Option<&Gate>) -> bool {
    claim.kind().starts_with("workflow.check.")
        || gate.is_some_and(|gate| gate.expects.iter().any(|kind| kind == claim.kind()))
}

/// The findings before the log is looked at.
pub(super) fn before(
    subject: &Subject,
    settings: &Settings,
    gate: Option<&Gate>,
    age_min: Option<u64>,
) -> Vec<Finding> {
    let mut found = Vec::new();
    page(subject, age_min, &mut found);
    required(subject, settings, &mut found);
    unreadable(subject, &mut found);
    found.extend(sidecars::invalid(subject));
    state(subject, &mut found);
    evidence(subject, gate, &mut found);
    critique(subject, &mut found);
    found
}

/// The findings after it.
pub(super) fn after(subject: &Subject, gate: Option<&Gate>, has_log: bool, found: &mut Vec<Finding>) {
    if let Some(bundle) = subject.bundle.get() {
        claims(bundle, found);
    }
    if gate.is_some_and(|gate| gate.expects.is_empty()) {
        let text =
            "gate misconfiguration: the step that is worked on expects no claims, so nothing can pass it";
        found.push(Finding::new(Kind::GateMisconfigured, Weight::Hard, "", text.to_owned()));
    }
    let slug = subject.slug();
    let nothing = matches!(subject.bundle, Doc::Absent) && matches!(subject.state, Doc::Absent);
    if nothing {
        let weight = if subject.bound && subject.is_done() { Weight::Firm } else { Weight::Soft };
        let text = format!(
            "{slug} NOT_VERIFIED — there is neither a trust.bundle nor a state.json: let the workflow's own tools record \
             what was done and checked"
        );
        found.push(Finding::new(Kind::NothingRecorded, weight, slug, text));
        return;
    }
    if subject.bound && claims_done(subject) && !has_log && !shows_anything(subject) {
        let text = format!(
            "{slug} NOT_VERIFIED — it is said to be {}, and there is no evidence of anything: no command that was seen to \
             run, no check, no review",
            subject.status()
        );
        found.push(Finding::new(Kind::Unsupported, Weight::Firm, slug.clone(), text));
    }
    let open = pending(subject);
    if open > 0 {
        let text = format!("{open} acceptance criteria are open");
        found.push(Finding::new(Kind::Pending, Weight::Advice, slug, text));
    }
}

fn claims_done(subject: &Subject) -> bool {
    subject.is_done() || subject.status() == "verified"
}

/// Whether a session without a log has something to show for itself.
fn shows_anything(subject: &Subject) -> bool {
    let reviewed = |claim: &Claim<'_>| {
        claim.kind().starts_with("workflow.critique.") || claim.kind().starts_with("workflow.acceptance.")
    };
    let in_bundle = subject.bundle.get().is_some_and(|bundle| {
        bundle
            .claims()
            .any(|claim| claim.is_supported() || reviewed(&claim) || claim.said() == Some(Said::Fail))
    });
    // What cannot be read was said already.
    let told = |doc: &Doc<_>| !matches!(doc, Doc::Absent);
    in_bundle || told(&subject.evidence) || matches!(subject.bundle, Doc::Unreadable)
}

fn page(subject: &Subject, age_min: Option<u64>, found: &mut Vec<Finding>) {
    let Some(page) =
        subject.page.as_ref().filter(|page| ACTIVE.contains(&page.status.replace('_', "-").as_str()))
    else {
        return;
    };
    let shown = subject.shown(&page.path);
    let age = age_min.map(|age| format!(", written {age} minutes ago")).unwrap_or_default();
    let text =
        format!("{shown} is still status:{}{age}: finish it, or say what its next step is", page.status);
    found.push(Finding::new(Kind::ActiveStatus, Weight::Soft, format!("{shown} {}", page.status), text));
}

fn required(subject: &Subject, settings: &Settings, found: &mut Vec<Finding>) {
    let mut missing = |name: &str| {
        let text = format!("{name} is required and missing");
        found.push(Finding::new(Kind::RequiredSidecar, Weight::Hard, name, text));
    };
    let has = |name: &str| subject.folder.join(name).is_file();
    if settings.require_sidecars {
        for name in ["state.json", "acceptance.json"].into_iter().filter(|name| !has(name)) {
            missing(name);
        }
        if !has("trust.bundle") && !has("evidence.json") {
            missing("trust.bundle");
        }
    }
    let reviewed = |bundle: &Bundle| bundle.claims().any(|claim| claim.kind() == "workflow.critique.review");
    if settings.require_critique && !has("critique.json") && !subject.bundle.get().is_some_and(reviewed) {
        missing("critique.json");
    }
}

/// A file that cannot be read may say anything.
fn unreadable(subject: &Subject, found: &mut Vec<Finding>) {
    let is = |doc: bool, name: &'static str| doc.then_some(name);
    let names = [
        is(matches!(subject.state, Doc::Unreadable), "state.json"),
        is(matches!(subject.acceptance, Doc::Unreadable), receipt::ACCEPTANCE),
        is(matches!(subject.bundle, Doc::Unreadable), "trust.bundle"),
        is(matches!(subject.evidence, Doc::Unreadable), "evidence.json"),
        is(matches!(subject.critique, Doc::Unreadable), "critique.json"),
    ];
    for name in names.into_iter().flatten() {
        let text = format!(
            "NOT_VERIFIED — {name} is there and cannot be read: let the workflow's own tools write it again"
        );
        found.push(Finding::new(Kind::Unreadable, Weight::Firm, name, text));
    }
}

fn state(subject: &Subject, found: &mut Vec<Finding>) {
    let next = subject.next();
    let word =
        |key: &str| text::line(next.and_then(|next| next.get(key)?.as_str()).unwrap_or_default(), LONG);
    let done = next.is_some() && word("status") == "done";
    if subject.state().is_some() && !subject.is_done() && !done {
        let (status, phase) = (subject.word("status"), subject.word("phase"));
        let text = format!("the workflow state is status:{status} phase:{phase}");
        found.push(Finding::new(Kind::WorkflowState, Weight::Soft, format!("{status} {phase}"), text));
    }
    if next.is_none() || done {
        return;
    }
    let list = |key: &str| {
        let items = next.and_then(|next| next.get(key)?.as_array()).into_iter().flatten();
        items
            .filter_map(Value::as_str)
            .take(8)
            .map(|item| text::line(item, 80))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let parts = [
        ("next action", word("summary")),
        ("next action, phase", word("target_phase")),
        ("next action, skills", list("skills")),
        ("next action, command", word("command")),
    ];
    let said: Vec<_> = parts.into_iter().filter(|(_, value)| !value.is_empty()).collect();
    if said.is_empty() {
        let text = "the state has a next action that is not done".to_owned();
        found.push(Finding::new(Kind::NextAction, Weight::Soft, "", text));
    }
    found.extend(said.into_iter().map(|(what, value)| {
        Finding::new(Kind::NextAction, Weight::Soft, format!("{what} {value}"), format!("{what}: {value}"))
    }));
}

fn evidence(subject: &Subject, gate: Option<&Gate>, found: &mut Vec<Finding>) {
    let mut checks: Vec<(String, Said)> = Vec::new();
    let mut verdict = None;
    if let Some(bundle) = subject.bundle.get() {
        let claims = bundle.claims().filter(|claim| is_check(claim, gate));
        checks.extend(claims.filter_map(|claim| Some((text::line(claim.check(), 80), claim.said()?))));
        verdict = checks.iter().map(|(_, said)| *said).max();
    } else if let Some(evidence) = subject.evidence.get() {
        let listed = evidence.get("checks").and_then(Value::as_array).into_iter().flatten();
        checks.extend(listed.filter_map(|check| {
            let id = check.get("id").and_then(Value::as_str).unwrap_or("check");
            Some((text::line(id, 80), Said::of(check.get("status")?)?))
        }));
        verdict = evidence.get("verdict").and_then(Said::of);
    }
    if let Some(said) = verdict.filter(|said| *said > Said::Pass) {
        let text = format!("evidence verdict: {}", said.as_str());
        found.push(Finding::new(Kind::EvidenceVerdict, Weight::Hard, said.as_str(), text));
    }
    let failing = checks.iter().filter(|(_, said)| matches!(said, Said::Fail | Said::NotVerified));
    for (check, said) in failing.take(MOST) {
        let text = format!("evidence check {check} status: {}", said.as_str());
        found.push(Finding::new(
            Kind::EvidenceCheck,
            Weight::Hard,
            format!("{check} {}", said.as_str()),
            text,
        ));
    }
    let gaps = subject.evidence.get().and_then(|evidence| evidence.get("not_verified_gaps")?.as_array());
    for gap in gaps.into_iter().flatten().take(3) {
        let gap = text::line(gap.as_str().unwrap_or("one without a name"), LONG);
        found.push(Finding::new(Kind::Gap, Weight::Soft, gap.clone(), format!("NOT_VERIFIED gap: {gap}")));
    }
}

fn critique(subject: &Subject, found: &mut Vec<Finding>) {
    let reviews: Vec<Claim<'_>> = subject.bundle.get().map_or_else(Vec::new, |bundle| {
        bundle.claims().filter(|claim| claim.kind() == "workflow.critique.review").collect()
    });
    let critique = subject.critique.get();
    let failed = |claim: &&Claim<'_>| {
        claim.said() == Some(Said::Fail) || matches!(claim.status(), "disputed" | "rejected")
    };
    let status = match reviews.iter().find(failed) {
        Some(claim) if claim.said() == Some(Said::Fail) => "fail".to_owned(),
        Some(claim) => text::line(claim.status(), 80),
        None if !reviews.is_empty() => return,
        None => {
            let of = |critique: &Map<String, Value>| {
                let status = critique.get("status").and_then(Value::as_str).unwrap_or("none");
                let open = critique.get("required") == Some(&Value::Bool(true))
                    && !matches!(status, "pass" | "not_required");
                open.then(|| text::line(status, 80))
            };
            let Some(status) = critique.and_then(of) else { return };
            status
        }
    };
    let text = format!("the review's critique status is {status}");
    found.push(Finding::new(Kind::Critique, Weight::Hard, status, text));
    let listed = critique.and_then(|critique| critique.get("critiques")?.as_array()).into_iter().flatten();
    let findings = listed.filter_map(|review| review.get("findings")?.as_array()).flatten();
    let word = |finding: &Value, key: &str| {
        text::line(finding.get(key).and_then(Value::as_str).unwrap_or_default(), LONG)
    };
    for open in findings.filter(|finding| word(finding, "status") == "open").take(3) {
        let about = format!("{}: {}", word(open, "severity"), word(open, "description"));
        found.push(Finding::new(
            Kind::CritiqueOpen,
            Weight::Hard,
            about.clone(),
            format!("critique open, {about}"),
        ));
    }
}

/// Claims that matter, of any kind.
fn claims(bundle: &Bundle, found: &mut Vec<Finding>) {
    for claim in bundle.claims().filter(Claim::matters) {
        let (subject, status) = (text::line(claim.subject(), 120), claim.status());
        let said = |kind, weight, what: String| Finding::new(kind, weight, subject.clone(), what);
        if matches!(status, "disputed" | "rejected") {
            // A false completion that the log has caught already is said once.
            let caught = found
                .iter()
                .any(|finding| finding.kind == Kind::Contradicted && finding.about == claim.check());
            let what = format!("caught false-completion: trust.bundle claim disputed: {subject} is {status}");
            found.extend((!caught).then(|| said(Kind::Disputed, Weight::Hard, what)));
        } else if claim.is_refuted()
            && matches!(status, "verified" | "assumed" | "accepted" | "trusted" | "approved")
        {
            let what = format!(
                "caught false-completion: trust.bundle claim tampered: {subject} is stored as {status}, against its evidence"
            );
            found.push(said(Kind::Tampered, Weight::Hard, what));
        } else if claim.is_refuted() {
            let what = format!(
                "caught false-completion: trust.bundle claim disputed: {subject} has evidence against it"
            );
            found.push(said(Kind::Disputed, Weight::Hard, what));
        } else if claim.asserts_pass() && !claim.is_supported() {
            let what = format!(
                "NOT_VERIFIED — trust.bundle claim {subject} is {status} without any evidence or event"
            );
            found.push(said(Kind::Unsupported, Weight::Firm, what));
        }
    }
}

/// How many acceptance criteria are open.
fn pending(subject: &Subject) -> usize {
    if let Some(bundle) = subject.bundle.get() {
        let criteria = bundle.claims().filter(|claim| claim.kind() == "workflow.acceptance.criterion");
        return criteria.filter(|claim| !matches!(claim.said(), Some(Said::Pass | Said::Skip))).count();
    }
    let criteria = subject.acceptance.get().and_then(|acceptance| acceptance.get("criteria")?.as_array());
    let is_open = |criterion: &&Value| {
        let status = criterion.get("status").and_then(Value::as_str).unwrap_or_default();
        matches!(status, "pending" | "open" | "fail" | "not_verified")
    };
    criteria.into_iter().flatten().filter(is_open).count()
}

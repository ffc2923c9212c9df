//! The other side: takes records in and answers as it is told. What an answer means for a record is read here from
//! DESIGN §9 once more, not from the product's `classify`.

use std::collections::{HashMap, HashSet};

use super::action::{Answer, Body, Lot};
use crate::relay::delivery::Parcel;
use crate::relay::transport::{NoAnswer, Reply};

/// A record that a hook issued. Its place in the list of all is its name.
#[derive(Debug, Clone)]
pub(super) struct Issued {
    pub(super) id: String,
    pub(super) body: String,
    pub(super) lot: Lot,
    /// Of a liveness record: its pair, and where it stands in it.
    pub(super) claim: Option<(u8, (u8, bool))>,
}

/// What the server said of a record since the books began.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Said {
    pub(super) requests: u32,
    /// Answers that say it is delivered.
    pub(super) delivered: u32,
    /// Answers that say it never will be.
    pub(super) refused: u32,
    /// Answers of 500 to 599.
    pub(super) failed: u32,
}

impl Said {
    /// DESIGN §9: a 5xx after at least 8 attempts.
    pub(super) fn may_be_given_up(self) -> bool {
        self.requests >= 8 && self.failed > 0
    }
}

#[derive(Debug, Default)]
pub(super) struct Server {
    pub(super) issued: Vec<Issued>,
    by_body: HashMap<String, usize>,
    /// Those that were ever taken in.
    stored: HashSet<usize>,
    /// Those that need not be taken in: refused, or failed so often that they may be given up.
    refused: HashSet<usize>,
    pub(super) said: HashMap<usize, Said>,
    /// Answers that said delivered, ever.
    pub(super) deliveries: u64,
    pub(super) token: u8,
}

impl Server {
    /// Notes a record that may come.
    pub(super) fn expect(&mut self, issued: Issued) -> usize {
        let number = self.issued.len();
        self.by_body.insert(issued.body.clone(), number);
        self.issued.push(issued);
        number
    }

    /// The record with exactly this body.
    pub(super) fn number_of(&self, body: &str) -> Option<usize> {
        self.by_body.get(body).copied()
    }

    /// Whether a record was taken in, or need not be.
    pub(super) fn is_done_with(&self, number: usize) -> bool {
        self.stored.contains(&number) || self.refused.contains(&number)
    }

    /// Answers a request.
    pub(super) fn receive(&mut self, parcel: &Parcel, answer: Answer) -> Result<Reply, NoAnswer> {
        let number = self.number_of(&parcel.body).unwrap_or_else(|| panic!("never issued: {parcel:?}"));
        assert_eq!(parcel.endpoint.url().as_str(), "http://localhost:1/records");
        assert_eq!(parcel.tenant, None);
        let said = self.said.entry(number).or_default();
        said.requests += 1;
        let let_in = parcel.token.as_ref().map(|token| token.expose().to_owned()) == Some(token(self.token));
        let (status, body, retry_after) = match answer {
            Answer::CutBefore => return Err(NoAnswer::because("cut before")),
            Answer::Says { status, body, retry_after } => (status, body, retry_after),
            _ if !let_in => (401, Body::Html, None),
            Answer::Well | Answer::CutAfter => match self.issued[number].lot {
                Lot::Accepted => (202, Body::Accepted, None),
                Lot::Refused => (400, Body::Html, None),
                Lot::Poison => (500, Body::Html, None),
            },
        };
        let known = self.stored.contains(&number);
        match meaning(status, body) {
            Some(true) => {
                self.stored.insert(number);
                said.delivered += 1;
                self.deliveries += 1;
            }
            Some(false) => {
                self.refused.insert(number);
                said.refused += 1;
            }
            None => said.failed += u32::from((500..600).contains(&status)),
        }
        if said.may_be_given_up() {
            self.refused.insert(number);
        }
        if matches!(answer, Answer::CutAfter) {
            return Err(NoAnswer::because("cut after"));
        }
        let text = match body {
            Body::Empty => "",
            Body::Html => "<html>",
            Body::Accepted if known => r#"{"outcome":"accepted","status":"duplicate_ignored"}"#,
            Body::Accepted => r#"{"outcome":"accepted","status":"persisted"}"#,
            Body::Collision => r#"{"outcome":"accepted","status":"record_id_collision_ignored"}"#,
        };
        Ok(Reply { status, retry_after: retry_after.map(str::to_owned), body: text.into(), whole: true })
    }
}

pub(super) fn token(number: u8) -> String {
    format!("tok-{number}")
}

/// DESIGN §9: delivered, rejected, or (`None`) to be tried again.
fn meaning(status: u16, body: Body) -> Option<bool> {
    match (status, body) {
        (204, _) | (200..=299, Body::Empty | Body::Accepted) => Some(true),
        (200..=299, Body::Collision) => Some(false),
        (401 | 408 | 425 | 429, _) => None,
        (400..=499, _) => Some(false),
        _ => None,
    }
}

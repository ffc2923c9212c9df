//! One machine: hooks, workers, a disk, a clock and a server. Hooks and workers run the product's code; what calls it
//! (the hand-over from the journal, the worker's loop) is short and follows `economics::handoff` and `relay::worker`.

use std::collections::{HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::de::IgnoredAny;

use super::action::{Action, Answer, Emit, Loss, Lot, Run, Torn};
use super::books::Books;
use super::server::{Issued, Server, token};
use crate::relay::delivery::Delivery;
use crate::relay::outbox::{self, Entry, Error, Guard, Key, MAX_BODY, enqueue, make_room, sample};
use crate::relay::transport::{NoAnswer, Reply};
use crate::relay::worker::{enter, leave};
use crate::relay::{Status, status};
use crate::settings::env::Env;
use crate::sys::disk::memory::{Mounted, mount, survive};

const ORIGIN: &str = "http://localhost:1";
/// Nobody else takes these locks, but a process that another test is just starting may have inherited one until it runs
/// its program.
const WAIT: Duration = Duration::from_secs(60);
const WALL_MS: i64 = 30_000;
/// A state that only a later version understands.
const NEWER: &[u8] = br#"{"version":2,"what":"ever"}"#;

pub(super) struct World {
    pub(super) dir: PathBuf,
    pub(super) disk: Mounted,
    pub(super) server: Server,
    pub(super) books: Books,
    pub(super) now_ms: i64,
    token: u8,
    /// What hooks recorded, and how far it was handed on.
    pub(super) journal: Vec<(usize, Entry)>,
    cursor: usize,
    /// What was in `state.json` before one of a newer version.
    ours: Option<Option<Vec<u8>>>,
    /// Whether somebody ever wrote a state that is none.
    broke_state: bool,
}

impl World {
    pub(super) fn new(dir: &Path) -> Self {
        fastrand::seed(7);
        std::fs::create_dir(dir.join("outbox")).unwrap();
        Self {
            dir: dir.to_path_buf(),
            disk: mount(dir),
            server: Server::default(),
            books: Books::default(),
            now_ms: 1_800_000_000_000,
            token: 0,
            journal: Vec::new(),
            cursor: 0,
            ours: None,
            broke_state: false,
        }
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.dir.join("outbox").join(name)
    }

    pub(super) fn status(&self) -> Option<Status> {
        match status(&self.dir) {
            Err(Error::Newer { .. }) if self.ours.is_some() => None,
            status => Some(status.unwrap()),
        }
    }

    /// How many facts of the journal the server neither took in nor refused.
    pub(super) fn lost(&self) -> usize {
        self.journal.iter().filter(|(number, _)| !self.server.is_done_with(*number)).count()
    }

    pub(super) fn act(&mut self, action: &Action) {
        match action {
            Action::Emit(emit) => self.emit(*emit),
            Action::EmitTooLarge => self.emit_too_large(),
            Action::EmitTorn(torn) => self.tear(*torn),
            Action::CrashAt(crash) => self.disk.crash(*crash),
            Action::Rotate => self.rotate(),
            Action::Flush(run) => self.flush(run),
            Action::TokenChange { ours, theirs } => (self.token, self.server.token) = (*ours, *theirs),
            Action::ClockJump(by) => self.now_ms += by,
            Action::DeleteState(loss) => self.lose_state(*loss),
            Action::FillDisk(bytes) => self.disk.fill((*bytes).into()),
            Action::FreeDisk => self.disk.free(),
            Action::LosePower(seed) => {
                self.disk.lose_power(*seed);
                let state = self.disk.read(&self.file("state.json"));
                let is_whole = state.is_none_or(|bytes| serde_json::from_slice::<IgnoredAny>(&bytes).is_ok());
                assert!(is_whole || self.broke_state, "a loss of power leaves a torn state");
                // A state that was set aside is of a later time than the names now are.
                self.ours = self.ours.take().map(|_| None);
            }
        }
    }

    /// All is well again.
    pub(super) fn heal(&mut self) {
        self.disk.no_crash();
        self.disk.free();
        (self.token, self.server.token) = (9, 9);
        if let Some(ours) = self.ours.take() {
            match ours {
                Some(bytes) => self.disk.write(&self.file("state.json"), &bytes),
                None => self.disk.remove(&self.file("state.json")),
            }
        }
    }

    /// A hook: the record goes to the journal, and from there to the outbox.
    pub(super) fn emit(&mut self, emit: Emit) {
        let number = self.server.issued.len();
        let (id, lot, claim) = match emit {
            Emit::Fact(lot) => (format!("r{number}"), lot, None),
            Emit::Twin => ("twin".to_owned(), Lot::Accepted, None),
            Emit::Claim { pair, at, release } => {
                (format!("pair-{pair}"), Lot::Accepted, Some((pair, (at, release))))
            }
        };
        let mut entry = sample(&id, ORIGIN);
        let mut body = format!(r#"{{"run_id":"{id}", "n":{number},"cost":1.10,"name":"é\u0041"}}"#);
        if let Some((_, (at, release))) = claim {
            "liveness".clone_into(&mut entry.kind);
            let verb = if release { "release" } else { "heartbeat" };
            body = format!(r#"{{"type":"{verb}","at":"2026-07-01T10:00:0{at}Z","n":{number}}}"#);
        }
        entry.body = Entry::body(&body).unwrap();
        self.server.expect(Issued { id, body, lot, claim });
        if matches!(emit, Emit::Fact(_)) {
            self.journal.push((number, entry));
            self.hand_on(self.journal.len() - 1);
        } else {
            // What cannot be queued now is not queued later.
            self.queue(&entry).ok();
        }
    }

    /// As `economics::handoff`: what lies behind the cursor and was not recorded just now may be queued already.
    pub(super) fn hand_on(&mut self, fresh_from: usize) {
        for at in self.cursor..self.journal.len() {
            let entry = self.journal[at].1.clone();
            let left_behind = at < fresh_from;
            if left_behind && outbox::contains(&self.dir, &entry.id, WAIT).unwrap() {
                continue;
            }
            if self.queue(&entry).is_err() {
                return;
            }
        }
        if survive(|| outbox::sync(&self.dir)).is_some_and(|synced| synced.is_ok()) {
            self.cursor = self.journal.len();
        }
    }

    /// Queues an entry in a process of its own. After an error all is as before, and whatever comes of it, lines only
    /// come.
    fn queue(&mut self, entry: &Entry) -> Result<(), ()> {
        let before = self.current();
        let done = survive(|| enqueue(&self.dir, entry, WAIT));
        let after = self.current();
        let added = self.books.appended(&self.server, &before, &after);
        match done {
            Some(Ok(())) => assert_eq!(added, 1, "one line for one entry"),
            Some(Err(_)) => {
                let more = String::from_utf8_lossy(&after[before.len()..]);
                assert!(more.is_empty(), "a failed append leaves {more:?}");
            }
            None => assert!(added <= 1, "{added} lines for one entry"),
        }
        done.and_then(Result::ok).ok_or(())
    }

    pub(super) fn current(&self) -> Vec<u8> {
        self.read("current.jsonl")
    }

    pub(super) fn read(&self, name: &str) -> Vec<u8> {
        self.disk.read(&self.file(name)).unwrap_or_default()
    }

    /// The bytes of all segments.
    pub(super) fn segments(&self) -> Vec<Vec<u8>> {
        let mut paths = self.disk.paths();
        paths.retain(|path| {
            path.file_stem().is_some_and(|stem| stem.to_str().unwrap().parse::<u64>().is_ok())
        });
        paths.iter().filter_map(|path| self.disk.read(path)).collect()
    }

    fn emit_too_large(&mut self) {
        let mut entry = sample("too-large", ORIGIN);
        entry.body =
            serde_json::value::RawValue::from_string(format!("\"{}\"", "x".repeat(MAX_BODY))).unwrap();
        assert!(matches!(enqueue(&self.dir, &entry, WAIT), Err(Error::TooLarge { .. })));
    }

    fn tear(&mut self, torn: Torn) {
        let before = self.current();
        let mut torn_piece = vec![];
        if before.last().is_some_and(|&last| last != b'\n') {
            torn_piece.push(b'\n');
        }
        match torn {
            Torn::Cut(part) => {
                let line = serde_json::to_vec(&sample("torn", ORIGIN)).unwrap();
                torn_piece.extend(&line[..(line.len() - 1) * usize::from(part) / 255]);
            }
            Torn::Nul(count) => torn_piece.resize(torn_piece.len() + usize::from(count), 0),
        }
        self.disk.append(&self.file("current.jsonl"), &torn_piece);
        self.books.appended(&self.server, &before, &self.current());
    }

    fn rotate(&mut self) {
        survive(|| drop(Guard::acquire(&self.dir, WAIT).and_then(|guard| make_room(&guard))));
    }

    fn lose_state(&mut self, loss: Loss) {
        let path = self.file("state.json");
        let before = self.disk.read(&path);
        match loss {
            Loss::Newer => {
                if self.ours.is_none() {
                    self.ours = Some(before);
                }
                self.disk.write(&path, NEWER);
                return;
            }
            Loss::Deleted => self.disk.remove(&path),
            Loss::Emptied => self.disk.write(&path, b""),
            Loss::Nul => self.disk.write(&path, &vec![0; before.map_or(9, |bytes| bytes.len())]),
            Loss::Half => match before {
                Some(bytes) => self.disk.write(&path, &bytes[..bytes.len() / 2]),
                None => return,
            },
        }
        self.ours = None;
        self.broke_state = true;
        self.begin_books();
    }

    /// What is in the files now is all that new books can know of.
    fn begin_books(&mut self) {
        self.server.said.clear();
        self.books = Books::default();
        for content in self.segments().into_iter().chain([self.current()]) {
            self.books.appended(&self.server, b"", &content);
        }
    }

    /// A worker's life, as `relay::worker` has it.
    pub(super) fn flush(&mut self, run: &Run) {
        let requests = self.server.said.clone().into_values().map(|said| said.requests).sum::<u32>();
        let ended = survive(|| self.work(run));
        if self.ours.is_some() {
            assert!(matches!(ended, None | Some(Err(Error::Newer { .. }))), "{ended:?} with a newer state");
            let now = self.server.said.values().map(|said| said.requests).sum::<u32>();
            assert_eq!(now, requests, "sent with a newer state");
            assert_eq!(self.disk.read(&self.file("state.json")).as_deref(), Some(NEWER));
        }
    }

    fn work(&mut self, run: &Run) -> Result<(), Error> {
        let (dir, started) = (self.dir.clone(), self.now_ms);
        let url = [("CONSOLE_URL", ORIGIN), ("CONSOLE_TELEMETRY_TOKEN", &token(self.token))];
        let env = Env::from_pairs(url);
        let (lock, ledger) = enter(&dir, Instant::now() + WAIT)?.expect("no other worker");
        let mut delivery = Delivery::new(&env, ledger, 60_000, self.now_ms);
        if run.eager {
            delivery.forget_backoff();
        }
        delivery.load(&Guard::acquire(&dir, WAIT)?, self.now_ms)?;
        let mut script: VecDeque<Answer> = run.script.iter().copied().collect();
        let mut late = run.late.iter();
        loop {
            self.drive(&mut delivery, run, &mut script, started + WALL_MS);
            assert!(Guard::acquire(&dir, WAIT)?.try_worker()?.is_none(), "two workers");
            late.by_ref().for_each(|emit| self.emit(*emit));
            if run.rotates {
                self.rotate();
            }
            let guard = Guard::acquire(&dir, WAIT)?;
            let is_over = self.now_ms >= started + WALL_MS;
            if delivery.look_for_arrivals(&guard, self.now_ms)? && !is_over {
                continue;
            }
            let due_ms = delivery.next_due(self.now_ms);
            match due_ms {
                Some(due) if run.lingers && due < started + WALL_MS => self.now_ms = self.now_ms.max(due),
                _ => {
                    leave(&delivery, &guard, due_ms, self.now_ms);
                    lock.release(&guard);
                    return Ok(());
                }
            }
        }
    }

    fn drive(
        &mut self,
        delivery: &mut Delivery<'_>,
        run: &Run,
        script: &mut VecDeque<Answer>,
        until_ms: i64,
    ) {
        delivery.reload_credentials();
        let mut in_flight: VecDeque<(Key, String, Result<Reply, NoAnswer>)> = VecDeque::new();
        loop {
            while self.now_ms < until_ms
                && let Some(parcel) = delivery.next(self.now_ms)
            {
                let answer = script.pop_front().unwrap_or(Answer::Well);
                let reply = self.server.receive(&parcel, answer);
                let number = self.server.number_of(&parcel.body).unwrap();
                in_flight.push_back((parcel.key, self.server.issued[number].id.clone(), reply));
            }
            assert!(in_flight.len() <= 4, "more than four in flight");
            let identities: HashSet<_> = in_flight.iter().map(|(_, id, _)| id).collect();
            assert_eq!(identities.len(), in_flight.len(), "one identity in flight twice");
            let landing = if run.shuffles { in_flight.pop_back() } else { in_flight.pop_front() };
            let Some((key, _, answer)) = landing.filter(|_| self.now_ms < until_ms) else { break };
            self.now_ms += i64::from(run.latency);
            delivery.land(key, answer, self.now_ms);
            if delivery.wants_save(self.now_ms) {
                drop(Guard::acquire(&self.dir, WAIT).and_then(|guard| delivery.save(&guard, self.now_ms)));
            }
        }
        delivery.ground("no answer before the run ended", self.now_ms);
    }
}

//! Processes: the host's pipes, many hooks at once, a worker that dies, a switch that is off (fault checklist 32 to 35).

use crate::env::{TestEnv, lines};
use crate::relay::{conf, flush, status};
use crate::transcript::{SESSION, Transcript, tokens};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};

const OPUS: &str = "claude-opus-4-8";

/// A Console that takes connections and says nothing until a test answers for it.
struct Hanging {
    url: String,
    connections: Receiver<TcpStream>,
}

impl Hanging {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (sender, connections) = channel();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // The test may be over.
                drop(sender.send(stream));
            }
        });
        Self { url, connections }
    }

    /// The next request that somebody sent in full, and the connection that waits for its answer.
    fn request(&self) -> (Vec<u8>, TcpStream) {
        let stream = self.connections.recv().unwrap();
        (read_request(&stream).unwrap(), stream)
    }
}

/// The body of the next request; `None` when the connection is at its end.
fn read_request(stream: &TcpStream) -> Option<Vec<u8>> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let head = head.to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    reader.read_exact(&mut body).ok()?;
    Some(body)
}

fn accept(mut stream: &TcpStream) {
    stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap();
}

/// Accepts every further request of a connection.
fn serve(stream: &TcpStream) {
    while read_request(stream).is_some() {
        accept(stream);
    }
}

/// A machine whose Console is `url`.
fn machine(url: &str) -> TestEnv {
    let env = TestEnv::new();
    conf(&env, &format!("console_telemetry_url={url}\n"));
    env
}

/// The Stop of a session with one call, as a host would send it.
fn stop_of(env: &TestEnv, session: &str) -> String {
    let mut transcript = Transcript::new(env, session);
    transcript.prompt().call(&format!("m-{session}"), OPUS, [1, 2, 3]);
    transcript.payload(env, "Stop").to_string()
}

fn feed(child: &mut Child, payload: &str) {
    child.stdin.take().unwrap().write_all(payload.as_bytes()).unwrap();
}

#[test]
fn case_32_a_host_sees_the_end_of_every_pipe_and_its_signals_do_not_reach_the_worker() {
    let console = Hanging::new();
    let env = machine(&console.url);
    let payload = stop_of(&env, SESSION);
    let (mut extra, theirs) = UnixStream::pair().unwrap();
    // Handed down like a descriptor that a host forgot to close.
    rustix::io::fcntl_setfd(theirs.as_fd(), rustix::io::FdFlags::empty()).unwrap();
    let mut command = env.command(&["hook", "claude-code"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn().unwrap();
    drop(theirs);
    feed(&mut child, &payload);
    let group = Pid::from_child(&child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");
    assert_eq!(extra.read(&mut [0]).unwrap(), 0, "end of file");

    // All that while the worker lives and waits for its answer.
    let (_, stream) = console.request();
    assert_eq!(status(&env)["worker_running"], true);
    for signal in [Signal::HUP, Signal::INT, Signal::TERM] {
        assert_eq!(kill_process_group(group, signal), Err(rustix::io::Errno::SRCH), "nobody is in the group");
    }
    accept(&stream);
    flush(&env);
    assert_eq!(status(&env)["delivered"], 1);
}

#[test]
fn case_33_of_many_hooks_at_once_one_starts_the_worker_and_it_sends_for_all() {
    // At an origin that has not answered yet a worker has one connection; more of them would be more workers.
    let console = Hanging::new();
    let env = machine(&console.url);
    let payloads: Vec<String> = (0..24).map(|n| stop_of(&env, &format!("s{n}"))).collect();
    std::thread::scope(|scope| {
        for some in payloads.chunks(6) {
            let env = &env;
            scope.spawn(move || {
                for payload in some {
                    let output = env.feed(&["hook", "claude-code"], payload.as_bytes());
                    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0), "{output:?}");
                }
            });
        }
    });
    let (_, first) = console.request();
    assert!(console.connections.try_recv().is_err(), "a second worker sends");
    assert_eq!((&status(&env)["enqueued"], &status(&env)["delivered"]), (&24.into(), &0.into()));
    accept(&first);
    std::thread::spawn(move || {
        for stream in std::iter::once(first).chain(console.connections) {
            std::thread::spawn(move || serve(&stream));
        }
    });
    flush(&env);
    assert_eq!(status(&env)["delivered"], 24);
}

#[test]
fn case_33_a_worker_that_cannot_be_started_is_one_line_in_our_log_and_the_record_is_safe() {
    // The program was upgraded while the hook ran: its own file is gone.
    let console = Hanging::new();
    let env = machine(&console.url);
    let payload = stop_of(&env, SESSION);
    let program = env.home().join("tally");
    std::fs::copy(env!("CARGO_BIN_EXE_tally"), &program).unwrap();
    let mut command = env.command_of(program.to_str().unwrap(), &["hook", "claude-code"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    std::fs::remove_file(&program).unwrap();
    feed(&mut child, &payload);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    assert_eq!(env.records().len(), 1);
    assert_eq!(
        env.log().lines().filter(|line| line.contains("the relay was not woken")).count(),
        1,
        "{}",
        env.log()
    );
    assert_eq!(status(&env)["pending"], 1);
}

#[test]
fn case_33_a_hook_without_descriptors_harms_nobody_and_what_it_could_not_do_is_done_later() {
    let env = TestEnv::new();
    conf(&env, "console_telemetry_url=http://127.0.0.1:1\n");
    let mut transcript = Transcript::new(&env, SESSION);
    transcript.prompt().call("m1", OPUS, [1, 2, 3]);
    let payload = env.home().join("payload.json");
    std::fs::write(&payload, transcript.payload(&env, "Stop").to_string()).unwrap();
    let script = "ulimit -n \"$1\"; exec \"$0\" hook claude-code";
    for limit in 4..20 {
        let mut command = env.command_of("/bin/sh", &["-c", script, env!("CARGO_BIN_EXE_tally")]);
        let output = command.arg(limit.to_string()).stdin(File::open(&payload).unwrap()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{limit}: {output:?}");
        assert!(output.stdout.is_empty(), "{limit}: {output:?}");
        assert!(limit > 4 || env.records().is_empty(), "with so few nothing can be recorded");
    }
    transcript.stop(&env);
    assert_eq!(env.records().iter().map(tokens).collect::<Vec<_>>(), [[1, 2, 3]]);
    assert_eq!(status(&env)["enqueued"], 1);
}

#[test]
fn case_34_a_killed_worker_leaves_a_free_lock_and_the_next_one_sends_the_same_bytes() {
    let console = Hanging::new();
    let mut env = machine(&console.url);
    // The hook starts no worker of its own: the one that is killed is ours.
    env.set("TALLY_RELAY_WORKER", "1");
    assert!(env.feed(&["hook", "claude-code"], stop_of(&env, SESSION).as_bytes()).status.success());
    let args = ["relay", "flush", "--timeout", "60"];
    let mut worker = env.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let (sent, _stream) = console.request();
    assert_eq!(status(&env)["worker_running"], true);
    kill_process(Pid::from_child(&worker), Signal::KILL).unwrap();
    worker.wait().unwrap();
    let after = status(&env);
    assert_eq!((&after["worker_running"], &after["pending"]), (&false.into(), &1.into()));

    let mut next = env.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let (again, stream) = console.request();
    accept(&stream);
    assert_eq!(next.wait().unwrap().code(), Some(0));
    assert_eq!(again, sent);
    assert_eq!(status(&env)["delivered"], 1);
}

/// Every file below `dir` with its content.
fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path.display().to_string(), std::fs::read(&path).unwrap());
        }
    }
    found
}

#[test]
fn case_35_a_switch_that_is_off_starts_nothing_and_leaves_what_was_queued_alone() {
    // With `DO_NOT_TRACK` and a relay that is off the journal is still kept: it is local. Nothing is queued or sent, and
    // no worker is started: a hook that starts one leaves its mark in the outbox first.
    let console = Hanging::new();
    for (name, journalled) in [
        ("DO_NOT_TRACK=1", true),
        ("FLOW_AGENTS_CONSOLE_ECONOMICS_RELAY=0", true),
        ("TELEMETRY_ENABLED=false", false),
    ] {
        let mut env = machine("http://127.0.0.1:1");
        env.feed(&["hook", "claude-code"], stop_of(&env, "before").as_bytes());
        assert_eq!(env.run(&["relay", "flush", "--timeout", "1"]).status.code(), Some(1), "it stays queued");
        // If a worker were started for it, this one would answer.
        conf(&env, &format!("console_telemetry_url={}\n", console.url));
        let queued = files(&env.data_dir().join("outbox"));
        let all = files(&env.project());

        let (name, value) = name.split_once('=').unwrap();
        env.set(name, value);
        if name == "DO_NOT_TRACK" {
            // A registry that is due is no reason either.
            env.set("TELEMETRY_PRICING_URL", format!("{}/pricing.json", console.url));
        }
        let payload = stop_of(&env, "after");
        for _ in 0..2 {
            let output = env.feed(&["hook", "claude-code"], payload.as_bytes());
            assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0), "{name}: {output:?}");
        }
        assert_eq!(files(&env.data_dir().join("outbox")), queued, "{name}");
        assert_eq!(
            lines(&env.data_dir().join("economics.jsonl")).len(),
            1 + usize::from(journalled),
            "{name}"
        );
        if !journalled {
            assert_eq!(files(&env.project()), all, "{name}");
        }
    }
    assert!(console.connections.try_recv().is_err());
}

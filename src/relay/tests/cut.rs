//! Connections that never come about, break, or never end (fault checklist 27, 28 and 34). Time limits are those that a user
//! can set; what shows that they hold is how a run ended, not when.

use std::io::{ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use socket2::{Domain, SockRef, Socket, Type};

use super::*;

/// A server without manners: each connection is `serve`d on a thread of its own.
fn wild(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let serve = Arc::new(serve);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let serve = Arc::clone(&serve);
            std::thread::spawn(move || serve(stream));
        }
    });
    origin
}

/// Reads a request with its body.
fn request(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut byte = [0];
    while !bytes.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        bytes.push(byte[0]);
    }
    let head = String::from_utf8(bytes).unwrap().to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    stream.read_exact(&mut body).unwrap();
    body
}

/// Stays until the other side leaves.
fn wait_for_the_end(mut stream: TcpStream) {
    drop(std::io::copy(&mut stream, &mut std::io::sink()));
}

fn reset(stream: &TcpStream) {
    SockRef::from(stream).set_linger(Some(Duration::ZERO)).unwrap();
}

/// An address whose connections are neither taken nor refused: its queue is full. The streams keep it full.
fn blackhole(address: &str) -> std::io::Result<(SocketAddr, Socket, Vec<TcpStream>)> {
    let address: SocketAddr = address.parse().unwrap();
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.bind(&address.into())?;
    socket.listen(0)?;
    let address = socket.local_addr()?.as_socket().unwrap();
    let mut queued = Vec::new();
    while let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_millis(300)) {
        queued.push(stream);
    }
    Ok((address, socket, queued))
}

fn env(origin: &str, seconds: &str) -> Env {
    Env::from_pairs([
        ("CONSOLE_URL", origin),
        ("CONSOLE_TELEMETRY_CONNECT_TIMEOUT_SECONDS", if seconds == "1" { "1" } else { "30" }),
        ("CONSOLE_TELEMETRY_MAX_TIME_SECONDS", seconds),
    ])
}

/// Tries to send one record to `origin`, and returns why it is still pending; the next worker can have the lock.
fn failure(origin: &str, seconds: &str, wall: Duration) -> String {
    let dir = tempfile::tempdir().unwrap();
    enqueue(dir.path(), &sample("a", origin), WAIT).unwrap();
    let budget = Budget { linger: false, wall, ..Budget::detached() };
    run(dir.path(), &env(origin, seconds), budget, None).unwrap();
    assert_eq!(counters(dir.path()), [1, 0, 0, 0, 1]);
    let status = status(dir.path()).unwrap();
    assert!(!status.worker_running);
    // The first back-off may be so short that the same run tries again.
    assert!(status.origins[0].failures >= 1, "it speaks against the origin, not the record");
    status.origins[0].reason.clone().unwrap()
}

const LONG: Duration = Duration::from_secs(120);

#[test]
fn case_28_connections_that_break_are_tried_again() {
    let refused = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = refused.local_addr().unwrap();
    drop(refused);
    let head = b"HTTP/1.1 202 Accepted\r\ncontent-length: 100\r\n\r\n";
    let broken = [
        ("refused", format!("http://{address}"), "cannot connect"),
        (
            "reset before an answer",
            wild(|mut stream| {
                request(&mut stream);
                reset(&stream);
            }),
            "connection failed",
        ),
        (
            "reset after the headers",
            wild(move |mut stream| {
                request(&mut stream);
                stream.write_all(head).unwrap();
                reset(&stream);
            }),
            "connection failed",
        ),
        (
            "closed inside the body",
            wild(move |mut stream| {
                request(&mut stream);
                stream.write_all(head).unwrap();
                stream.write_all(br#"{"outcome":"accepted"}"#).unwrap();
            }),
            "connection failed",
        ),
        (
            "not HTTP",
            wild(|mut stream| {
                request(&mut stream);
                stream.write_all(b"SSH-2.0-OpenSSH_9.9\r\n").unwrap();
            }),
            "connection failed",
        ),
    ];
    for (what, origin, expected) in broken {
        let why = failure(&origin, "60", LONG);
        assert!(why.starts_with(expected), "{what}: {why}");
    }
}

#[test]
fn case_28_connections_that_stall_end_at_the_time_limit() {
    let head = b"HTTP/1.1 202 Accepted\r\ncontent-length: 100\r\n\r\n";
    let (address, _socket, _queued) = blackhole("127.0.0.1:0").unwrap();
    let stalls = [
        ("no connection", format!("http://{address}")),
        ("silence", wild(wait_for_the_end)),
        (
            "silence after the headers",
            wild(move |mut stream| {
                request(&mut stream);
                stream.write_all(head).unwrap();
                wait_for_the_end(stream);
            }),
        ),
        (
            "silence inside the body",
            wild(move |mut stream| {
                request(&mut stream);
                stream.write_all(head).unwrap();
                stream.write_all(br#"{"outcome":"accepted"}"#).unwrap();
                wait_for_the_end(stream);
            }),
        ),
        // A limit for each read alone would never end this one.
        ("case 34: a trickle of headers", wild(|stream| trickle(stream, b"HTTP/1.1 202 Accepted\r\nx-a: "))),
        ("case 34: a trickle of body", wild(move |stream| trickle(stream, head))),
    ];
    std::thread::scope(|scope| {
        for (what, origin) in &stalls {
            scope.spawn(move || assert_eq!(failure(origin, "1", LONG), "no answer in time", "{what}"));
        }
    });
}

/// Sends `start`, and then one byte after the other for as long as anybody listens.
fn trickle(mut stream: TcpStream, start: &[u8]) {
    request(&mut stream);
    stream.write_all(start).unwrap();
    while stream.write_all(b"x").is_ok() {
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn case_34_a_worker_ends_with_its_time_whatever_the_answer_does() {
    let origin = wild(|stream| trickle(stream, b"HTTP/1.1 202 Accepted\r\ncontent-length: 1000000\r\n\r\n"));
    let why = failure(&origin, "60", Duration::from_secs(1));
    assert_eq!(why, "no answer before the run ended");
}

#[test]
fn case_28_a_blackholed_ipv6_address_does_not_hide_the_ipv4_one() {
    // A machine without IPv6 has no such blackhole; then this holds that `localhost` works there.
    let blackhole = blackhole("[::1]:0");
    let port = blackhole.as_ref().map_or(0, |(address, ..)| address.port());
    let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
    let origin = format!("http://localhost:{}", listener.local_addr().unwrap().port());
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        request(&mut stream);
        stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap();
    });
    let dir = tempfile::tempdir().unwrap();
    enqueue(dir.path(), &sample("a", &origin), WAIT).unwrap();
    run(dir.path(), &env(&origin, "60"), Budget { wall: LONG, ..quick() }, None).unwrap();
    assert_eq!(counters(dir.path()), [1, 1, 0, 0, 0]);
    server.join().unwrap();
}

#[test]
fn case_28_a_record_whose_answer_was_lost_is_sent_again_to_the_byte() {
    let bodies = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&bodies);
    let origin = wild(move |mut stream| {
        let body = request(&mut stream);
        let mut seen = seen.lock().unwrap();
        seen.push(body);
        if seen.len() > 1 {
            stream.write_all(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n").unwrap();
        } else {
            reset(&stream);
        }
    });
    let dir = tempfile::tempdir().unwrap();
    let entry = sample("a", &origin);
    enqueue(dir.path(), &entry, WAIT).unwrap();
    run(dir.path(), &env(&origin, "60"), Budget { wall: LONG, ..quick() }, None).unwrap();
    assert_eq!(counters(dir.path()), [1, 1, 0, 0, 0]);
    assert_eq!(*bodies.lock().unwrap(), vec![entry.body.get().as_bytes(); 2]);
}

#[test]
fn case_27_of_an_endless_answer_only_the_beginning_is_read() {
    let (sender, gone) = std::sync::mpsc::channel();
    let origin = wild(move |mut stream| {
        request(&mut stream);
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{\"text\":\"").unwrap();
        let piece = [b'x'; 4096];
        let mut written = 0_u64;
        let error = loop {
            match stream.write_all(&piece) {
                Ok(()) => written += 4096,
                Err(error) => break error.kind(),
            }
        };
        sender.send((written, error)).unwrap();
    });
    // "In time" would mean that it was read until the time was up.
    assert_eq!(failure(&origin, "60", LONG), "HTTP 200: unrecognised answer");
    let (written, error) = gone.recv().unwrap();
    assert!(matches!(error, ErrorKind::BrokenPipe | ErrorKind::ConnectionReset), "{error}");
    // What we read is 64 KiB; the rest is what the buffers of two sockets hold.
    assert!(written < 64 << 20, "{written} bytes");
}

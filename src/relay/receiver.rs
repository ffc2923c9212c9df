//! A loopback stand-in for the Console: it takes any POST, remembers it, and answers like the Console does for a record
//! that it keeps (Console ingest §2). The page by which `tally init` and `tally doctor` try a token it has too, of a tenant that is
//! nobody's: it checks no token, and must not look as if. `tally relay listen` and `tally demo` show with it what would leave the machine.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver as Inbox, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// The Console's own limit for a body.
const MAX_BODY: u64 = 1024 * 1024;
const MAX_HEAD: u64 = 64 * 1024;
/// What set-up reads of a Console.
const PAGE: &str = "/api/economics";
/// How long a connection may be idle, and how long one read may take.
const IDLE: Duration = Duration::from_secs(5);

/// A request that was received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// `POST`, …
    pub method: String,
    /// Path and query.
    pub path: String,
    /// The headers in the order they came, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Received {
    /// The first header of this name (in lower case).
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// A running receiver; it stops when dropped.
#[derive(Debug)]
pub struct Receiver {
    address: SocketAddr,
    received: Arc<Mutex<Vec<Received>>>,
    inbox: Inbox<Received>,
    stop: Arc<AtomicBool>,
    acceptor: Option<JoinHandle<()>>,
}

impl Receiver {
    /// Starts listening on `127.0.0.1:port`; port 0 takes a free one.
    ///
    /// # Errors
    /// When the port cannot be bound.
    pub fn start(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let address = listener.local_addr()?;
        let received = Arc::new(Mutex::new(Vec::new()));
        let stop = Arc::new(AtomicBool::new(false));
        let (sender, inbox) = channel();
        let shelf = Shelf { received: Arc::clone(&received), sender };
        let stopped = Arc::clone(&stop);
        let acceptor = std::thread::spawn(move || accept(&listener, &shelf, &stopped));
        Ok(Self { address, received, inbox, stop, acceptor: Some(acceptor) })
    }

    /// The base URL to configure.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Everything received so far, oldest first.
    #[must_use]
    pub fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The next request, when it comes; `None` when none came in time.
    #[must_use]
    pub fn next(&self, patience: Duration) -> Option<Received> {
        self.inbox.recv_timeout(patience).ok()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // Wakes the acceptor, which then sees the flag.
        drop(TcpStream::connect_timeout(&self.address, IDLE));
        if let Some(acceptor) = self.acceptor.take() {
            // A panic over there has nothing left to tell us.
            drop(acceptor.join());
        }
    }
}

#[derive(Debug, Clone)]
struct Shelf {
    received: Arc<Mutex<Vec<Received>>>,
    sender: Sender<Received>,
}

impl Shelf {
    fn put(&self, request: &Received) {
        self.received.lock().unwrap_or_else(PoisonError::into_inner).push(request.clone());
        // Nobody may be waiting.
        drop(self.sender.send(request.clone()));
    }
}

fn accept(listener: &TcpListener, shelf: &Shelf, stop: &AtomicBool) {
    for stream in listener.incoming() {
        if stop.load(Ordering::SeqCst) {
            return;
        }
        let Ok(stream) = stream else { continue };
        let shelf = shelf.clone();
        std::thread::spawn(move || {
            // A broken connection is the sender's to notice.
            drop(serve(&stream, &shelf));
        });
    }
}

/// Serves one connection until it is closed, idle, or asks to be closed.
fn serve(stream: &TcpStream, shelf: &Shelf) -> io::Result<()> {
    stream.set_read_timeout(Some(IDLE))?;
    stream.set_write_timeout(Some(IDLE))?;
    let mut reader = BufReader::new(stream);
    while let Some(head) = read_head(&mut reader)? {
        let length: u64 = head.header("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
        if length > MAX_BODY || head.header("transfer-encoding").is_some() {
            return answer(
                stream,
                413,
                r#"{"error":"BODY_TOO_LARGE","safeMessage":"request body too large"}"#,
            );
        }
        let mut request = head;
        if request.header("expect").is_some() {
            (&*stream).write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        (&mut reader).take(length).read_to_end(&mut request.body)?;
        if request.body.len() as u64 != length {
            return Ok(());
        }
        let close = request.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"));
        if request.method == "POST" {
            shelf.put(&request);
            answer(stream, 202, r#"{"outcome":"accepted","status":"persisted"}"#)?;
        } else if request.method == "GET" && request.path == PAGE {
            answer(stream, 200, r#"{"tenantId":"(any)"}"#)?;
        } else {
            answer(stream, 405, r#"{"error":"METHOD_NOT_ALLOWED","safeMessage":"method is not allowed"}"#)?;
        }
        if close {
            return Ok(());
        }
    }
    Ok(())
}

fn answer(mut stream: &TcpStream, status: u16, body: &str) -> io::Result<()> {
    let reason = match status {
        200 => "OK",
        202 => "Accepted",
        405 => "Method Not Allowed",
        _ => "Content Too Large",
    };
    let length = body.len();
    let answer = format!(
        "HTTP/1.1 {status} {reason}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(answer.as_bytes())
}

/// The request line and headers; `None` at the end of the connection or for what is no HTTP.
fn read_head(reader: &mut impl BufRead) -> io::Result<Option<Received>> {
    let mut head = reader.take(MAX_HEAD);
    let mut line = String::new();
    head.read_line(&mut line)?;
    let mut words = line.split_whitespace();
    let (Some(method), Some(path)) = (words.next(), words.next()) else { return Ok(None) };
    let (method, path) = (method.to_owned(), path.to_owned());
    let mut headers = Vec::new();
    loop {
        line.clear();
        if head.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let text = line.trim_end();
        if text.is_empty() {
            return Ok(Some(Received { method, path, headers, body: Vec::new() }));
        }
        if let Some((name, value)) = text.split_once(':') {
            headers.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends `request` and reads one whole answer, of which it returns the status line.
    fn exchange(stream: &mut BufReader<TcpStream>, request: &[u8]) -> String {
        stream.get_mut().write_all(request).unwrap();
        let mut answer = String::new();
        while !answer.ends_with("\r\n\r\n") {
            assert!(stream.read_line(&mut answer).unwrap() > 0, "closed after {answer:?}");
        }
        let length = answer.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        stream.read_exact(&mut vec![0; length.parse().unwrap()]).unwrap();
        answer.lines().next().unwrap().to_owned()
    }

    fn connect(receiver: &Receiver) -> BufReader<TcpStream> {
        BufReader::new(TcpStream::connect(receiver.address).unwrap())
    }

    fn post(body: &str) -> Vec<u8> {
        format!(
            "POST /records HTTP/1.1\r\nHost: x\r\nX-One: 1\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .into_bytes()
    }

    #[test]
    fn a_connection_serves_many_requests() {
        let receiver = Receiver::start(0).unwrap();
        let mut stream = connect(&receiver);
        for body in ["{\"n\":1}", "{\"n\":2}"] {
            let answer = exchange(&mut stream, &post(body));
            assert!(answer.starts_with("HTTP/1.1 202 "), "{answer}");
            assert!(receiver.next(IDLE).is_some());
        }
        let received = receiver.received();
        let bodies: Vec<_> = received.iter().map(|request| request.body.as_slice()).collect();
        assert_eq!(bodies, [b"{\"n\":1}", b"{\"n\":2}"]);
        assert_eq!((received[0].path.as_str(), received[0].header("x-one")), ("/records", Some("1")));
    }

    #[test]
    fn only_bounded_posts_are_taken() {
        let receiver = Receiver::start(0).unwrap();
        let one = |request: &str| exchange(&mut connect(&receiver), request.as_bytes());
        assert!(one("GET /records HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
        assert!(one("GET /api/economics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 200 "));
        assert!(one("POST / HTTP/1.1\r\nContent-Length: 1048577\r\n\r\n").starts_with("HTTP/1.1 413 "));
        assert!(receiver.received().is_empty());
    }

    #[test]
    fn dropping_it_frees_the_port() {
        let receiver = Receiver::start(0).unwrap();
        let address = receiver.address;
        drop(receiver);
        assert!(TcpStream::connect(address).is_err());
    }
}

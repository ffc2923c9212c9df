//! A Console on loopback that checks tokens and tenants as the real one does (Console ingest §2), and remembers.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// A request as it came: method, path, token, tenant, body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) token: Option<String>,
    pub(crate) tenant: Option<String>,
    pub(crate) body: String,
}

type Tokens = Vec<(&'static str, &'static str)>;

/// The running Console; its thread ends with the test.
pub(crate) struct Console {
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Console {
    /// Starts one that knows these pairs of token and tenant.
    pub(crate) fn start(tokens: &[(&'static str, &'static str)]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(vec![]));
        let (tokens, seen) = (tokens.to_vec(), Arc::clone(&requests));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (tokens, seen) = (tokens.clone(), Arc::clone(&seen));
                std::thread::spawn(move || while serve(&stream, &tokens, &seen).is_some() {});
            }
        });
        Self { url, requests }
    }

    /// What came so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    /// What was posted so far.
    pub(crate) fn posts(&self) -> Vec<Request> {
        self.requests().into_iter().filter(|request| request.method == "POST").collect()
    }
}

fn serve(stream: &TcpStream, tokens: &Tokens, seen: &Mutex<Vec<Request>>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|length| *length > 0)?;
    let mut words = line.split_whitespace();
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let (mut token, mut tenant, mut length) = (None, None, 0);
    loop {
        line.clear();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim().split_once(':') else { break };
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "authorization" => token = value.strip_prefix("Bearer ").map(str::to_owned),
            "x-console-tenant-id" => tenant = Some(value.to_owned()),
            "content-length" => length = value.parse().ok()?,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body = String::from_utf8_lossy(&body).into_owned();
    let own = token.as_deref().and_then(|token| tokens.iter().find(|(known, _)| *known == token));
    let (status, answer) = match own {
        None => (401, r#"{"error":"UNAUTHORIZED"}"#.to_owned()),
        Some((_, own)) if tenant.as_deref().is_some_and(|tenant| tenant != *own) => (
            403,
            r#"{"error":"TENANT_FORBIDDEN","safeMessage":"tenant is not allowed for this token"}"#.to_owned(),
        ),
        Some((_, own)) if method == "GET" => (200, format!(r#"{{"tenantId":"{own}","runCount":0}}"#)),
        Some(_) => (202, r#"{"outcome":"accepted","status":"persisted"}"#.to_owned()),
    };
    seen.lock().unwrap().push(Request { method, path, token, tenant, body });
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        answer.len()
    );
    (&*stream).write_all(format!("{head}{answer}").as_bytes()).ok()
}

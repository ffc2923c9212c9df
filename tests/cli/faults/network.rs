//! Proxies, certificates and addresses (fault checklist 28, 30 and 31). A foreground hook is the worker here: it tries once.

use crate::env::{TestEnv, fixture};
use crate::relay::{assert_nowhere, conf, status};
use crate::transcript::{SESSION, Transcript};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::Value;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};

const PASSWORD: &str = "pa55word";

/// Environment variables and their values.
type Vars<'a> = &'a [(&'a str, &'a str)];

/// Records a run and tries to send it to `url`, once; returns the one origin of `tally relay status`.
fn attempt(env: &TestEnv, url: &str) -> Value {
    conf(env, &format!("console_telemetry_url={url}\n"));
    let mut transcript = Transcript::new(env, SESSION);
    transcript.prompt().call("m1", "claude-opus-4-8", [1, 2, 3]);
    transcript.stop(env);
    let status = status(env);
    assert_eq!(status["enqueued"], 1, "{}", env.log());
    status["origins"][0].clone()
}

fn machine(vars: Vars<'_>) -> TestEnv {
    let mut env = TestEnv::new();
    env.set("FLOW_AGENTS_TELEMETRY_FOREGROUND", "true");
    for (name, value) in vars {
        env.set(name, *value);
    }
    env
}

fn path(name: &str) -> String {
    fixture("tls").join(name).display().to_string()
}

/// A Console that speaks TLS with the certificate of the fixtures, on `address`; returns its port.
fn tls_console(address: &str) -> u16 {
    let listener = TcpListener::bind(address).unwrap();
    let port = listener.local_addr().unwrap().port();
    let certificates =
        CertificateDer::pem_file_iter(path("server.pem")).unwrap().map(Result::unwrap).collect();
    let key = PrivateKeyDer::from_pem_file(path("server.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = Arc::new(config.with_no_client_auth().with_single_cert(certificates, key).unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let tls = StreamOwned::new(ServerConnection::new(Arc::clone(&config)).unwrap(), stream);
            // Who does not trust the certificate leaves.
            drop(answer(BufReader::new(tls)));
        }
    });
    port
}

fn answer(mut stream: BufReader<impl Read + Write>) -> io::Result<()> {
    let head = read_head(&mut stream)?;
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    stream.read_exact(&mut vec![0; length.parse().unwrap()])?;
    stream.get_mut().write_all(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n")
}

/// The first line and the headers of a request, in lower case.
fn read_head(stream: &mut impl BufRead) -> io::Result<String> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if stream.read_line(&mut head)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(head.to_ascii_lowercase())
}

#[test]
fn case_30_certificates_come_from_where_the_environment_says_and_from_nowhere_else() {
    let port = tls_console("127.0.0.1:0");
    let url = format!("https://127.0.0.1:{port}");
    let (ours, foreign) = (path("server.pem"), path("foreign.pem"));
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(&ours, folder.path().join("server.pem")).unwrap();
    let folder = folder.path().display().to_string();
    let no_roots = "; check SSL_CERT_FILE and SSL_CERT_DIR";
    let rows: [(Vars<'_>, Option<&str>); 9] = [
        (&[("SSL_CERT_FILE", &ours)], None),
        (&[("SSL_CERT_FILE", &foreign)], Some("UnknownIssuer")),
        (&[("SSL_CERT_FILE", "/nowhere/ca.pem")], Some(no_roots)),
        (&[("SSL_CERT_DIR", "/nowhere")], Some(no_roots)),
        (&[("SSL_CERT_FILE", &ours), ("SSL_CERT_DIR", "/nowhere")], None),
        (&[("SSL_CERT_FILE", &foreign), ("SSL_CERT_DIR", &folder)], None),
        (&[("SSL_CERT_FILE", ""), ("SSL_CERT_DIR", &folder)], None),
        (&[("SSL_CERT_FILE", "")], Some(no_roots)),
        (&[("SSL_CERT_FILE", &ours), ("SSL_CERT_DIR", "")], None),
    ];
    for (vars, failure) in rows {
        let env = machine(vars);
        let origin = attempt(&env, &url);
        assert_eq!(origin["delivered"], u64::from(failure.is_none()), "{vars:?}: {origin}");
        let reason = origin["reason"].as_str().unwrap_or_default();
        assert!(reason.contains(failure.unwrap_or_default()), "{vars:?}: {reason}");
    }
}

/// A proxy that notes what it is asked for. It opens the tunnel if `opens`, and else demands a password.
fn proxy(opens: bool) -> (u16, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, asked) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let Ok(head) = read_head(&mut reader) else { continue };
            let target = head.split(' ').nth(1).unwrap().to_owned();
            // The test may be over.
            drop(sender.send(head));
            if opens {
                drop(tunnel(stream, &target));
            } else {
                drop((&stream).write_all(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"));
            }
        }
    });
    (port, asked)
}

fn tunnel(mut near: TcpStream, target: &str) -> io::Result<()> {
    let mut far = TcpStream::connect(target)?;
    near.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
    let (mut up, mut down) = (near.try_clone()?, far.try_clone()?);
    std::thread::spawn(move || io::copy(&mut up, &mut far));
    io::copy(&mut down, &mut near).map(drop)
}

/// What is not loopback in the sense of the allowlist, but needs no network.
#[cfg(target_os = "linux")]
const REMOTE: &str = "127.0.0.2";

#[cfg(target_os = "linux")]
#[test]
fn case_30_a_proxy_is_used_as_the_environment_says_and_never_for_loopback() {
    let remote = tls_console(&format!("{REMOTE}:0"));
    let local = tls_console("127.0.0.1:0");
    let (port, asked) = proxy(true);
    let proxy = format!("http://user:{PASSWORD}@127.0.0.1:{port}");
    let remote = format!("https://{REMOTE}:{remote}");
    let local = format!("https://127.0.0.1:{local}");
    // user:pa55word
    let credential = "proxy-authorization: basic dxnlcjpwytu1d29yza==";
    let rows: [(Vars<'_>, &str, bool); 9] = [
        (&[("HTTPS_PROXY", &proxy)], &remote, true),
        (&[("https_proxy", &proxy)], &remote, true),
        (&[("ALL_PROXY", &proxy)], &remote, true),
        (&[("HTTPS_PROXY", &proxy), ("NO_PROXY", REMOTE)], &remote, false),
        (&[("https_proxy", &proxy), ("no_proxy", "127.0.0.0/8")], &remote, false),
        (&[("HTTPS_PROXY", "")], &remote, false),
        (&[("HTTPS_PROXY", &proxy), ("NO_PROXY", "")], &remote, true),
        (&[("HTTP_PROXY", &proxy)], &remote, false),
        (&[("HTTPS_PROXY", &proxy), ("ALL_PROXY", &proxy)], &local, false),
    ];
    for (vars, url, proxied) in rows {
        let mut env = machine(vars);
        env.set("SSL_CERT_FILE", path("server.pem"));
        let origin = attempt(&env, url);
        assert_eq!(origin["delivered"], 1, "{vars:?}: {origin}");
        let heads: Vec<String> = asked.try_iter().collect();
        assert_eq!(heads.len(), usize::from(proxied), "{vars:?}: {heads:?}");
        for head in heads {
            assert!(head.starts_with(&format!("connect {REMOTE}:")) && head.contains(credential), "{head}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn case_30_the_password_of_a_proxy_is_never_shown() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let (demanding, _asked) = proxy(false);
    for (what, address) in [
        ("refuses", format!("127.0.0.1:{closed}")),
        ("demands another password", format!("127.0.0.1:{demanding}")),
        ("is no address", "[::".to_owned()),
    ] {
        let proxy = format!("http://user:{PASSWORD}@{address}");
        let env = machine(&[("HTTPS_PROXY", &proxy), ("SSL_CERT_FILE", &path("server.pem"))]);
        let origin = attempt(&env, &format!("https://{REMOTE}:1"));
        assert_eq!((&origin["delivered"], &origin["failures"]), (&0.into(), &1.into()), "{what}: {origin}");
        for args in [&["relay", "status"][..], &["relay", "flush", "--timeout", "1"]] {
            let output = env.run(args);
            let said = [output.stdout, output.stderr].concat();
            assert!(!String::from_utf8_lossy(&said).contains(PASSWORD), "{what}");
        }
        assert_nowhere(&env.project(), PASSWORD, &[]);
    }
}

#[test]
fn case_28_a_tls_handshake_that_stalls_and_a_name_that_is_none_are_tried_again() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let stalled = format!("https://{}", silent.local_addr().unwrap());
    // RFC 6761: this name never resolves. Where nobody can be asked, the look-up may also take until the limit.
    for (url, reasons) in [
        (stalled.as_str(), &["no answer in time"][..]),
        ("https://console.invalid", &["cannot connect", "no answer in time"]),
    ] {
        let env = machine(&[
            ("SSL_CERT_FILE", &path("server.pem")),
            ("CONSOLE_TELEMETRY_CONNECT_TIMEOUT_SECONDS", "1"),
            ("CONSOLE_TELEMETRY_MAX_TIME_SECONDS", "1"),
        ]);
        let origin = attempt(&env, url);
        assert_eq!((&origin["pending"], &origin["failures"]), (&1.into(), &1.into()), "{origin}");
        let reason = origin["reason"].as_str().unwrap();
        assert!(reasons.iter().any(|start| reason.starts_with(start)), "{url}: {reason}");
    }
}

#[test]
fn case_31_an_endpoint_that_is_not_allowed_gets_nothing_and_is_not_repeated() {
    let met = Arc::new(Mutex::new(0));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let counted = Arc::clone(&met);
    std::thread::spawn(move || {
        for _ in listener.incoming() {
            *counted.lock().unwrap() += 1;
        }
    });
    for url in [
        "http://console.example/s3cret".to_owned(),
        // Where clouds hand out credentials.
        "http://169.254.169.254/s3cret".to_owned(),
        "file:///s3cret".to_owned(),
        format!("http://user:s3cret@127.0.0.1:{port}"),
        format!("https://s3cret@127.0.0.1:{port}"),
    ] {
        let env = machine(&[("SSL_CERT_FILE", &path("server.pem"))]);
        conf(&env, &format!("console_telemetry_url={url}\n"));
        let mut transcript = Transcript::new(&env, SESSION);
        transcript.prompt().call("m1", "claude-opus-4-8", [1, 2, 3]);
        transcript.stop(&env);
        assert_eq!(env.records().len(), 1);
        assert_eq!(status(&env)["enqueued"], 0, "{url}");
        let log = env.log();
        assert!(log.contains("console_telemetry_url") && !log.contains("s3cret"), "{url}: {log}");
        let output = env.run(&["relay", "status"]);
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(said.contains("console_telemetry_url") && !said.contains("s3cret"), "{url}: {said}");
    }
    assert_eq!(*met.lock().unwrap(), 0);
}

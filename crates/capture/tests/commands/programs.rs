//! Programs as they are.

use super::bed::{Bed, LONG_NAME, MANY, NAME, NO_NAME, SERVER, SERVER_V6, pattern, skipped};
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use windlass_testbed::{Background, Need, run, skip, skip_unless, text, unique, wait_until};

/// A folder of the test's own, removed with the value.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(unique("capture"));
        fs::create_dir_all(&path).expect("writable");
        Folder(path)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn sha256(bytes: &[u8], folder: &Folder) -> String {
    let path = folder.path("data");
    fs::write(&path, bytes).expect("writable");
    let output = Command::new("sha256sum").arg(path).output().expect("coreutils");
    text(&output.stdout).split(' ').next().expect("a hash").to_owned()
}

/// nginx, on the PATH or where `scripts/setup` unpacks it.
fn nginx() -> Option<String> {
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.venv/bin/nginx");
    if Path::new(own).exists() {
        return Some(own.to_owned());
    }
    (!skip_unless(&[Need::Program("nginx")])).then(|| "nginx".to_owned())
}

/// Starts nginx with HTTP/1.1 at port 8081 and HTTP/2 without TLS at port 8082.
fn start_nginx(bed: &Bed, nginx: &str, folder: &Folder) -> Background {
    let root = folder.0.display();
    let config = format!(
        "daemon off; master_process off; pid {root}/pid; error_log stderr;\n\
         events {{}}\n\
         http {{ access_log off; client_body_temp_path {root}/body; proxy_temp_path {root}/proxy;\n\
         fastcgi_temp_path {root}/fastcgi; uwsgi_temp_path {root}/uwsgi; scgi_temp_path {root}/scgi;\n\
         server {{ listen [::]:8081 ipv6only=off; root {root}; }}\n\
         server {{ listen [::]:8082 http2 ipv6only=off; root {root}; }} }}\n"
    );
    fs::write(folder.path("nginx.conf"), config).expect("writable");
    let mut command = bed.namespace.command(nginx);
    command.args(["-p", &folder.path(""), "-c", &folder.path("nginx.conf")]);
    let server = Background::start(command);
    wait_until("nginx listens", || bed.namespace.output("ss", "-ltn").contains(":8082"));
    server
}

#[test]
fn curl_fetches_100_mb_by_http_1_and_2_over_both_families() {
    let Some(nginx) = nginx() else { return };
    if skipped(&["curl", "sha256sum", "ss"]) {
        return;
    }
    let (bed, folder) = (Bed::new(), Folder::new());
    bed.serve_names();
    let expected = sha256(&pattern(100_000_000), &folder);
    let _nginx = start_nginx(&bed, &nginx, &folder);
    let urls = [
        format!("--http1.1 http://{SERVER}:8081/data"),
        format!("--http2-prior-knowledge http://{NAME}:8082/data"),
        format!("--http2-prior-knowledge http://[{SERVER_V6}]:8082/data"),
        format!("-6 --http1.1 http://{NAME}:8081/data"),
    ];
    for url in urls {
        let output = bed.shell(&format!("curl -sS --fail {url} | sha256sum"));
        let printed = text(&output.stdout);
        assert!(printed.starts_with(&expected), "{url}: {printed}{}", text(&output.stderr));
    }
}

#[test]
fn names_are_resolved_at_the_far_end() {
    if skipped(&["python3", "getent"]) {
        return;
    }
    let bed = Bed::new();
    bed.serve_names();
    let output = bed.shell(&format!("getent ahostsv4 {NAME}; getent ahostsv6 {NAME}"));
    let printed = text(&output.stdout);
    assert!(printed.contains("10.77.0.1") && printed.contains("fd99::7"), "{printed}");
    // A datagram cannot hold the answer: it comes over TCP.
    let script = "
import socket, sys
print(len({a[4][0] for a in socket.getaddrinfo(sys.argv[1], 80, socket.AF_INET)}))";
    assert_eq!(bed.python(script, &[LONG_NAME]).trim(), MANY.to_string());
    let missing = bed.shell(&format!("getent ahosts {NO_NAME}"));
    assert_eq!(missing.status.code(), Some(2), "no such name");
}

#[test]
fn a_name_server_that_is_silent_is_a_failure_and_no_stall() {
    if skipped(&["python3"]) {
        return;
    }
    // No server listens: its port refuses, and so does the forwarder, at once.
    let bed = Bed::new();
    let script = "
import socket, sys
try:
    socket.getaddrinfo(sys.argv[1], 80)
except socket.gaierror as error:
    print(error.errno == socket.EAI_AGAIN)";
    assert_eq!(bed.python(script, &[NAME]).trim(), "True");
}

fn echo(mut stream: std::net::TcpStream) {
    let mut buffer = [0; 65_536];
    while let Ok(len @ 1..) = stream.read(&mut buffer) {
        if stream.write_all(&buffer[..len]).is_err() {
            return;
        }
    }
}

/// Opens connections, exchanges bytes on all of them while all are open, and closes them.
const MANY_CONNECTIONS: &str = "
import hashlib, socket, sys
host, port, count, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
sockets = [socket.create_connection((host, port)) for _ in range(count)]
for n, s in enumerate(sockets):
    s.sendall(n.to_bytes(4, 'big') * (size // 4))
for n, s in enumerate(sockets):
    got = b''
    while len(got) < size:
        piece = s.recv(size - len(got))
        assert piece, n
        got += piece
    assert got == n.to_bytes(4, 'big') * (size // 4), n
print(len(sockets))";

#[test]
fn two_hundred_connections_at_once_carry_their_own_bytes() {
    if skipped(&["python3"]) {
        return;
    }
    let bed = Bed::new();
    let server = bed.serve(SERVER.into(), echo);
    let (host, port) = (server.ip().to_string(), server.port().to_string());
    assert_eq!(bed.python(MANY_CONNECTIONS, &[&host, &port, "200", "40000"]).trim(), "200");
}

#[test]
fn a_thousand_connections_are_open_at_once() {
    if skipped(&["python3", "prlimit"]) {
        return;
    }
    let bed = Bed::new();
    // The namespace's server needs as many descriptors as the capture.
    let mut limit = bed.namespace.command("prlimit");
    limit.args(["--nofile=4096", "python3", "-c", ECHO_SERVER, &SERVER.to_string()]);
    let server = Background::start(limit);
    let port = server.wait_for("port ").replace("port ", "");
    let mut command = bed.namespace.command("prlimit");
    command.arg("--nofile=4096").arg(super::bed::example().expect("built")).arg("--");
    command.args(["python3", "-c", MANY_CONNECTIONS, &SERVER.to_string(), &port, "1000", "4000"]);
    let output = command.output().expect("starts");
    assert_eq!(text(&output.stdout).trim(), "1000", "{}", text(&output.stderr));
}

const ECHO_SERVER: &str = "
import selectors, socket, sys
selector = selectors.DefaultSelector()
listener = socket.create_server((sys.argv[1], 0), backlog=1024)
print('port', listener.getsockname()[1], file=sys.stderr, flush=True)
selector.register(listener, selectors.EVENT_READ)
while True:
    for key, _ in selector.select():
        if key.fileobj is listener:
            selector.register(listener.accept()[0], selectors.EVENT_READ)
        else:
            data = key.fileobj.recv(65536)
            if data:
                key.fileobj.sendall(data)
            else:
                selector.unregister(key.fileobj)
                key.fileobj.close()";

const GO_PROGRAM: &str = r#"
package main

import ("crypto/sha256"; "fmt"; "io"; "net/http"; "os")

func main() {
    answer, err := http.Get(os.Args[1])
    if err != nil { fmt.Println(err); os.Exit(1) }
    hash := sha256.New()
    io.Copy(hash, answer.Body)
    fmt.Printf("%x\n", hash.Sum(nil))
}
"#;

#[test]
fn a_static_binary_with_a_resolver_of_its_own_is_captured_too() {
    let Some(nginx) = nginx() else { return };
    if skipped(&["go", "sha256sum", "ss"]) {
        return;
    }
    let (bed, folder) = (Bed::new(), Folder::new());
    fs::write(folder.path("main.go"), GO_PROGRAM).expect("writable");
    let (source, program) = (folder.path("main.go"), folder.path("program"));
    let build = Command::new("go")
        .args(["build", "-o", &program, &source])
        .envs([("CGO_ENABLED", "0"), ("GOFLAGS", "-mod=mod"), ("GOPROXY", "off")])
        .output()
        .expect("go");
    if !build.status.success() {
        skip(&format!("go does not build: {}", text(&build.stderr)));
        return;
    }
    bed.serve_names();
    let expected = sha256(&pattern(10_000_000), &folder);
    let _nginx = start_nginx(&bed, &nginx, &folder);
    let url = format!("http://{NAME}:8081/data");
    let output = bed.capture().args([&program, &url]).output().expect("starts");
    assert_eq!(text(&output.stdout).trim(), expected, "{}", text(&output.stderr));
}

#[test]
fn git_clones_over_http() {
    if skipped(&["git", "python3", "ss"]) {
        return;
    }
    let (bed, folder) = (Bed::new(), Folder::new());
    bed.serve_names();
    let source = folder.path("source");
    let git = |arguments: &str| run("git", arguments);
    git(&format!("init --quiet {source}"));
    fs::write(folder.path("source/file"), pattern(3_000_000)).expect("writable");
    git(&format!("-C {source} add file"));
    let identity = "-c user.name=test -c user.email=test@example.org";
    git(&format!("-C {source} {identity} commit --quiet --message=one"));
    git(&format!("clone --quiet --bare {source} {}", folder.path("bare.git")));
    git(&format!("-C {} update-server-info", folder.path("bare.git")));
    let mut server = bed.namespace.command("python3");
    server.args(["-m", "http.server", "--directory", &folder.path(""), "8000"]);
    server.stdout(Stdio::null());
    let _server = Background::start(server);
    wait_until("the server listens", || bed.namespace.output("ss", "-ltn").contains(":8000"));
    let target = folder.path("target");
    let script = format!("git clone --quiet http://{NAME}:8000/bare.git {target}");
    let output = bed.shell(&script);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(fs::read(folder.path("target/file")).expect("cloned") == pattern(3_000_000));
}

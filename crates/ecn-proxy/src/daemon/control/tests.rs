use super::*;
use crate::daemon::client::{AskError, ask};
use std::os::unix::fs::PermissionsExt;

/// Says what it was asked.
struct Echo;

impl Respond for Echo {
    fn respond(&self, command: Command, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(Answer::result(&format!("{command:?}")).line().as_bytes())
    }
}

/// A place of the test's own, gone with the value.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Folder {
        let name = format!("windlass-ecn-proxy-{}-{test}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).expect("writable");
        Folder(path)
    }

    fn socket(&self) -> PathBuf {
        self.0.join("below/control.sock")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn serve(path: &Path) -> Socket {
    let socket = Socket::bind(path).expect("free");
    socket.serve(Arc::new(Echo)).expect("a thread");
    socket
}

/// Sends these bytes to the daemon's socket and returns its answer.
fn answer_to(path: &Path, bytes: &[u8]) -> String {
    let mut stream = UnixStream::connect(path).expect("a daemon");
    // The daemon may refuse before it has read everything.
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8(answer).expect("UTF-8")
}

#[test]
fn a_daemon_answers_and_its_files_go_with_it() {
    let folder = Folder::new("answers");
    let path = folder.socket();
    let socket = serve(&path);
    let mode = fs::metadata(&path).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o660);
    let result = ask(&path, Command::Stop { drain_s: Some(7) }).and_then(|mut a| a.result());
    assert_eq!(result.expect("an answer"), "Stop { drain_s: Some(7) }");
    // Two requests on one connection.
    let two = format!("{}{}", Command::On.line(), Command::Off.line());
    assert_eq!(answer_to(&path, two.as_bytes()).lines().count(), 2);
    drop(socket);
    assert_eq!(fs::read_dir(path.parent().expect("a folder")).expect("there").count(), 0);
    assert!(matches!(ask(&path, Command::On), Err(AskError::NoDaemon(_))));
}

#[test]
fn two_daemons_at_one_socket_are_refused_and_a_dead_ones_socket_is_taken_over() {
    let folder = Folder::new("two");
    let path = folder.socket();
    let first = serve(&path);
    let error = Socket::bind(&path).expect_err("taken").to_string();
    let pid = std::process::id();
    assert!(error.contains(&format!("runs at {} (process {pid})", path.display())), "{error}");
    assert_eq!(error.lines().count(), 1);
    assert!(ask(&path, Command::On).is_ok(), "the first is as it was");
    // As after kill -9: the files stay, the lock does not.
    let (socket_file, pid_file) = (first.path.clone(), first.pid_path.clone());
    drop(first);
    drop(UnixListener::bind(&socket_file));
    fs::write(&pid_file, "1\n").expect("writable");
    let _second = serve(&path);
    assert!(ask(&path, Command::On).is_ok());
}

#[test]
fn a_lock_that_a_dead_daemons_child_holds_for_a_moment_is_waited_for() {
    let folder = Folder::new("orphan");
    let path = folder.socket();
    fs::create_dir_all(path.parent().expect("a folder")).expect("writable");
    let mut ended = std::process::Command::new("true").spawn().expect("starts");
    ended.wait().expect("ends");
    let pid_path = path.with_extension("pid");
    fs::write(&pid_path, format!("{}\n", ended.id())).expect("writable");
    let file = File::open(&pid_path).expect("there");
    let held = Flock::lock(file, FlockArg::LockExclusiveNonblock).expect("free");
    let child = thread::spawn(move || {
        // Much less than the daemon waits, whatever else the machine does.
        thread::sleep(Duration::from_millis(30));
        drop(held);
    });
    assert!(Socket::bind(&path).is_ok());
    child.join().expect("released");
}

#[test]
fn a_bad_request_gets_one_clear_error_and_the_daemon_goes_on() {
    let folder = Folder::new("bad");
    let path = folder.socket();
    let _socket = serve(&path);
    let long = vec![b'x'; 100_000];
    for (bytes, message) in [
        (&b"\n"[..], "no request: EOF"),
        (b"hello\n", "no request: expected value"),
        (b"{\"version\":1,\"command\":\"on\"", "no request: EOF"),
        (b"{\"version\":9,\"command\":\"on\"}\n", "version: expected 1"),
        (b"\xff\xfe\x00\n", "no request: expected value"),
        (&long, "expected at most 4096 bytes"),
    ] {
        let answer = answer_to(&path, bytes);
        let error = format!("{{\"error\":\"{message}");
        assert!(answer.is_empty() && bytes.len() > 4096 || answer.starts_with(&error), "{answer}");
        assert!(answer.lines().count() <= 1, "{answer}");
    }
    assert!(ask(&path, Command::On).is_ok());
}

#[test]
fn one_connection_too_many_is_refused() {
    let folder = Folder::new("many");
    let path = folder.socket();
    let _socket = serve(&path);
    let ask = |stream: &mut UnixStream| {
        stream.write_all(Command::On.line().as_bytes()).expect("open");
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).expect("an answer");
        line
    };
    let connect = || UnixStream::connect(&path).expect("a daemon");
    let mut streams: Vec<UnixStream> = (0..CONNECTIONS_MAX).map(|_| connect()).collect();
    assert!(streams.iter_mut().all(|stream| ask(stream).contains("result")));
    let mut line = String::new();
    BufReader::new(connect()).read_line(&mut line).expect("an answer");
    assert!(line.contains("too many at once"), "{line}");
}

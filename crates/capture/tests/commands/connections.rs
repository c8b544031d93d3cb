//! TCP's guarantees through the capture: ends, resets, refusals, and every byte.

use super::bed::{Bed, SERVER, SERVER_V6, pattern, skipped};
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Shutdown, TcpStream};
use std::sync::mpsc::channel;
use std::time::Duration;
use windlass_testbed::{PATIENCE, text};

const BOTH: [IpAddr; 2] = [IpAddr::V4(SERVER), IpAddr::V6(SERVER_V6)];

#[test]
fn each_direction_ends_by_itself() {
    if skipped(&["python3"]) {
        return;
    }
    let bed = Bed::new();
    for address in BOTH {
        // The answer comes only after the end of the question.
        let server = bed.serve(address, |mut stream| {
            let mut question = String::new();
            stream.read_to_string(&mut question).expect("text");
            stream.write_all(question.to_uppercase().as_bytes()).expect("open");
        });
        let client = "
import socket, sys
s = socket.create_connection((sys.argv[1], int(sys.argv[2])))
s.sendall(b'question')
s.shutdown(socket.SHUT_WR)
print(s.makefile().read())";
        let arguments = [&server.ip().to_string()[..], &server.port().to_string()];
        assert_eq!(bed.python(client, &arguments).trim(), "QUESTION");
        // The other way round: the server closes its direction first.
        let (sender, receiver) = channel();
        let server = bed.serve(address, move |mut stream| {
            stream.shutdown(Shutdown::Write).expect("open");
            let mut rest = String::new();
            stream.read_to_string(&mut rest).expect("text");
            sender.send(rest).expect("waited for");
        });
        let client = "
import socket, sys
s = socket.create_connection((sys.argv[1], int(sys.argv[2])))
assert s.recv(1) == b''
s.sendall(b'after the end')";
        let arguments = [&server.ip().to_string()[..], &server.port().to_string()];
        bed.python(client, &arguments);
        assert_eq!(receiver.recv_timeout(PATIENCE).as_deref(), Ok("after the end"));
    }
}

/// Makes closing the stream reset it.
fn reset(stream: TcpStream) {
    let socket = socket2::Socket::from(stream);
    socket.set_linger(Some(Duration::ZERO)).expect("a socket");
}

#[test]
fn a_reset_reaches_the_other_side() {
    if skipped(&["python3"]) {
        return;
    }
    let bed = Bed::new();
    let (sender, receiver) = channel();
    let server = bed.serve(SERVER.into(), move |mut stream| {
        let mut first = [0];
        stream.read_exact(&mut first).expect("a byte");
        if first == *b"r" {
            return reset(stream);
        }
        sender.send(stream.read(&mut [0]).map_err(|error| error.kind())).expect("waited for");
    });
    let client = "
import socket, struct, sys
s = socket.create_connection((sys.argv[1], int(sys.argv[2])))
s.sendall(sys.argv[3].encode())
if sys.argv[3] == 'r':
    try:
        print(s.recv(1))
    except ConnectionResetError:
        print('reset')
else:
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
    s.close()";
    let (host, port) = (server.ip().to_string(), server.port().to_string());
    assert_eq!(bed.python(client, &[&host, &port, "r"]).trim(), "reset");
    bed.python(client, &[&host, &port, "s"]);
    assert_eq!(receiver.recv_timeout(PATIENCE), Ok(Err(ErrorKind::ConnectionReset)));
}

#[test]
fn an_unreachable_destination_is_reported_at_once() {
    if skipped(&["python3"]) {
        return;
    }
    let bed = Bed::new();
    // The namespace has no route to these.
    let script = "
import errno, socket, sys
for host in sys.argv[2:]:
    family = socket.AF_INET6 if ':' in host else socket.AF_INET
    s = socket.socket(family, socket.SOCK_STREAM)
    print('tcp', host, errno.errorcode[s.connect_ex((host, int(sys.argv[1])))])
    u = socket.socket(family, socket.SOCK_DGRAM)
    u.settimeout(20)
    u.connect((host, 443))
    u.send(b'quic')
    try:
        u.recv(1)
    except OSError as error:
        print('udp', host, errno.errorcode[error.errno])";
    let hosts = ["10.77.0.1", "fd99::7", "192.0.2.1", "2001:db8::1"];
    let printed = bed.python(script, &[&["9"][..], &hosts].concat());
    let expected = "tcp 10.77.0.1 ECONNREFUSED\nudp 10.77.0.1 ECONNREFUSED\n\
                    tcp fd99::7 ECONNREFUSED\nudp fd99::7 ECONNREFUSED\n\
                    tcp 192.0.2.1 ENETUNREACH\nudp 192.0.2.1 ECONNREFUSED\n\
                    tcp 2001:db8::1 ENETUNREACH\nudp 2001:db8::1 ECONNREFUSED\n";
    assert_eq!(printed, expected);
}

#[test]
fn bytes_of_a_command_that_ends_at_once_still_arrive() {
    if skipped(&["python3"]) {
        return;
    }
    let bed = Bed::new();
    let (go, wait) = channel();
    let (sender, receiver) = channel();
    let (listener, server) = bed.listen(SERVER.into());
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        wait.recv().expect("the command has ended");
        let mut all = Vec::new();
        stream.read_to_end(&mut all).expect("an orderly end");
        sender.send(all).expect("waited for");
    });
    // A process that is killed in the middle of closing leaves its bytes to the kernel. The server
    // reads none before that, so they lie in every buffer on the way.
    let client = "
import os, socket, sys
s = socket.create_connection((sys.argv[1], int(sys.argv[2])))
data = sys.stdin.buffer.read()
sent = 0
s.setblocking(False)
try:
    while sent < len(data):
        sent += s.send(data[sent:])
except BlockingIOError:
    pass
print(sent, flush=True)
os._exit(0)";
    let data = pattern(50_000_000);
    let mut command = super::bed::piped(bed.capture());
    command.args(["python3", "-c", client, &server.ip().to_string(), &server.port().to_string()]);
    let mut capture = command.spawn().expect("starts");
    let mut stdin = capture.stdin.take().expect("piped");
    stdin.write_all(&data).expect("read");
    drop(stdin);
    let mut line = String::new();
    let mut stdout = std::io::BufReader::new(capture.stdout.take().expect("piped"));
    std::io::BufRead::read_line(&mut stdout, &mut line).expect("a line");
    let sent: usize = line.trim().parse().expect("a number");
    assert!(sent > 100_000, "{sent}");
    go.send(()).expect("waited for");
    let received = receiver.recv_timeout(PATIENCE).expect("sent");
    assert!(received == data[..sent], "{} of {sent}", received.len());
    let output = capture.wait_with_output().expect("ends");
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
fn a_slow_reader_stops_the_writer() {
    if skipped(&["python3"]) {
        return;
    }
    let bed = Bed::new();
    let (listener, server) = bed.listen(SERVER.into());
    // The client writes until nothing moves, and only then the server reads.
    let client = "
import select, socket, sys
s = socket.create_connection((sys.argv[1], int(sys.argv[2])))
s.setblocking(False)
sent = 0
while select.select([], [s], [], 1)[1]:
    sent += s.send(b'x' * 65536)
s.setblocking(True)
print(sent, flush=True)
s.sendall(b'y' * 65536)
s.close()";
    let mut command = super::bed::piped(bed.capture());
    command.args(["python3", "-c", client, &server.ip().to_string(), &server.port().to_string()]);
    let mut capture = command.spawn().expect("starts");
    let (mut stream, _) = listener.accept().expect("a connection");
    let mut line = String::new();
    let mut stdout = std::io::BufReader::new(capture.stdout.take().expect("piped"));
    std::io::BufRead::read_line(&mut stdout, &mut line).expect("a line");
    let held: usize = line.trim().parse().expect("a number");
    // Buffers of the kernel at both sides, and those of the stack.
    assert!(held < 40_000_000, "{held}");
    let mut all = Vec::new();
    stream.read_to_end(&mut all).expect("an orderly end");
    assert_eq!(all.len(), held + 65_536);
    assert!(capture.wait().expect("ends").success());
}

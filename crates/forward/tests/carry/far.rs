//! Services, refusals, many connections, and the standard streams.

use crate::bed::{Bed, Trust};
use crate::run;
use std::io::{self, ErrorKind, Read};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixListener};
use windlass_forward::protocol::{Refusal, Request, Status};
use windlass_forward::{Counters, pipe};

/// An echo service. Returns its description under the name `echo`.
pub(crate) async fn echo() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut from, mut to) = stream.split();
                let _ = tokio::io::copy(&mut from, &mut to).await;
                let _ = to.shutdown().await;
            });
        }
    });
    format!("echo={address}")
}

async fn ask(port: std::net::SocketAddr, question: &[u8]) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(port).await?;
    stream.write_all(question).await?;
    stream.shutdown().await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    Ok(answer)
}

#[test]
fn two_hundred_connections_at_once() {
    run(async {
        let bed = Bed::new(&[echo().await], &[], Trust::Encrypted);
        let port = bed.forward("echo").await;
        let tasks: Vec<_> = (0..200_u32)
            .map(|number| {
                tokio::spawn(async move {
                    let question = number.to_be_bytes().repeat(5_000);
                    assert_eq!(ask(port, &question).await.expect("an answer"), question);
                })
            })
            .collect();
        for task in tasks {
            task.await.expect("an echo");
        }
        assert_eq!(bed.dials.load(Ordering::Relaxed), 200);
        for registry in [&bed.carrier.registry, &bed.exposed] {
            let totals = || registry.totals().into_values().next().expect("a peer");
            // The programs are done a moment before the tasks that served them.
            while totals().open > 0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            assert_eq!(totals().connections, 200);
            assert_eq!((totals().sent, totals().received), (4_000_000, 4_000_000));
        }
    });
}

#[test]
fn refusals_say_why() {
    run(async {
        // A port that does not listen.
        let closed = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let closed_at = closed.local_addr().expect("an address");
        drop(closed);
        let services = [echo().await, format!("closed={closed_at}"), "gone=unix:/gone".to_owned()];
        let bed = Bed::new(&services, &["192.0.2.0/24"], Trust::Encrypted);
        let refused = async |request: Request| {
            let error = bed.carrier.join(bed.peer, &request).await.expect_err("a refusal");
            Refusal::status_in(&error).unwrap_or_else(|| panic!("{error}"))
        };
        let service = |name: &str| Request::Service(name.into());
        let to = |host: &str, port| Request::Connect { host: host.into(), port };
        assert_eq!(refused(service("ech")).await, Status::UnknownService);
        assert_eq!(refused(service("closed")).await, Status::Refused);
        assert_eq!(refused(service("gone")).await, Status::Refused);
        assert_eq!(refused(to("127.0.0.1", closed_at.port())).await, Status::NotAllowed);
        assert_eq!(refused(to("localhost", closed_at.port())).await, Status::NotAllowed);
        assert_eq!(refused(to("name.invalid", 80)).await, Status::NameNotFound);
        let far = bed.carrier.join(bed.peer, &service("echo")).await.expect("a service");
        assert!(far.connection().info().is_ok());
    });
}

#[test]
fn names_are_resolved_for_peers_only_with_an_exit() {
    run(async {
        for (exit, resolves) in [(&[][..], false), (&["192.0.2.0/24"], true)] {
            let bed = Bed::new(&[echo().await], exit, Trust::Encrypted);
            let joined = bed.carrier.join(bed.peer, &Request::Resolve).await;
            let refused = joined.err().and_then(|error| Refusal::status_in(&error));
            assert_eq!(refused, (!resolves).then_some(Status::NotAllowed));
        }
    });
}

#[test]
fn a_program_is_reset_if_the_service_is_unknown() {
    run(async {
        let bed = Bed::new(&[echo().await], &[], Trust::Encrypted);
        let port = bed.forward("unknown").await;
        let error = ask(port, b"question").await.expect_err("a reset");
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    });
}

#[test]
fn a_key_that_is_not_allowed_is_refused() {
    run(async {
        let bed = Bed::new(&[echo().await], &[], Trust::Refused);
        let joined = bed.carrier.join(bed.peer, &Request::Service("echo".into())).await;
        let error = joined.expect_err("a refusal");
        assert_eq!(error.kind(), ErrorKind::PermissionDenied);
        assert!(error.to_string().contains("does not allow this host's key"), "{error}");
        assert!(bed.exposed.totals().is_empty());
    });
}

#[test]
fn a_service_at_a_socket_in_the_file_system() {
    run(async {
        let path =
            format!("{}/{}.sock", env!("CARGO_TARGET_TMPDIR"), windlass_testbed::unique("fwd"));
        let listener = UnixListener::bind(&path).expect("a socket");
        let bed = Bed::new(&[format!("local=unix:{path}")], &[], Trust::Plain);
        let port = bed.forward("local").await;
        let serve = async {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            let mut question = Vec::new();
            stream.read_to_end(&mut question).await.expect("the end");
            stream.write_all(&question).await.expect("written");
        };
        let (answer, ()) = tokio::join!(ask(port, b"question"), serve);
        assert_eq!(answer.expect("an answer"), b"question");
        std::fs::remove_file(path).expect("removed");
    });
}

/// Input that never ends after its bytes, as a terminal.
struct Waiting(io::Cursor<Vec<u8>>, std::sync::mpsc::Receiver<()>);

impl Read for Waiting {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match Read::read(&mut self.0, buffer)? {
            0 => Ok(self.1.recv().map_or(0, |()| 0)),
            taken => Ok(taken),
        }
    }
}

#[test]
fn the_pipe_ends_with_its_peer() {
    run(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let target = format!("once={}", listener.local_addr().expect("an address"));
        let bed = Bed::new(&[target], &[], Trust::Encrypted);
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            let mut question = [0; 8];
            stream.read_exact(&mut question).await.expect("a question");
            stream.write_all(b"answer to ").await.expect("written");
            stream.write_all(&question).await.expect("written");
        });
        let far = bed.carrier.join(bed.peer, &Request::Service("once".into())).await;
        let far = far.expect("a service");
        let (_open, waits) = std::sync::mpsc::channel();
        let input = Waiting(io::Cursor::new(b"question".to_vec()), waits);
        let (mut output, counters) = (Vec::new(), Arc::new(Counters::default()));
        pipe(&far, input, &mut output, &counters).await.expect("the end");
        assert_eq!(output, b"answer to question");
        assert_eq!(counters.received.load(Ordering::Relaxed), 18);
    });
}

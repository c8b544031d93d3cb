//! `windlass tou listen` and `windlass tou connect`: a connection joined to standard input and
//! output.

use super::args::{TouConnect, TouListen};
use super::connection_args::{Transport, Verbosity};
use super::copy::{self, CopyError};
use super::print::{self, ConnectionLog, Traffic};
use super::{address, settings};
use crate::failure::{self, Failure};
use crate::interrupt;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;
use windlass_tcp::State;
use windlass_tou::{Options, TouStream};
use windlass_tou_perf::OpenStreams;

/// How long sending may go on after standard output was closed.
const GRACE: Duration = Duration::from_secs(1);
/// How long the other thread may take to report its error on a busy machine.
const REPORT_MAX: Duration = Duration::from_secs(10);
/// The longest wait in TIME-WAIT.
const LINGER_MAX: Duration = Duration::from_secs(3);

/// Connects and copies in both directions.
pub(super) fn connect(args: &TouConnect) -> Result<(), Failure> {
    let options = options(&args.how)?;
    let live = OpenStreams::default();
    watch(&live, false);
    let addresses = args.peer.resolve(args.family)?;
    let stream = address::connect(&addresses, args.timeout, &options)?;
    live.add(&stream);
    converse(&stream, args.tell, true)?;
    linger(&stream);
    Ok(())
}

/// Takes a connection and copies in both directions, or takes one after the other and receives.
pub(super) fn listen(args: &TouListen) -> Result<(), Failure> {
    let options = options(&args.how)?;
    let live = OpenStreams::default();
    watch(&live, args.keep_open);
    let listener = args.local.listen(args.family, &options)?;
    let failure = |error| Failure::io("listen", &error);
    let local = listener.local_addr().map_err(failure)?;
    if args.local.port == 0 || args.tell.verbose || args.tell.json {
        print::listening(local, args.tell.json);
    }
    loop {
        let (stream, peer) = listener.accept().map_err(failure)?;
        live.add(&stream);
        if !args.keep_open {
            drop(listener);
            converse(&stream, args.tell, true)?;
            linger(&stream);
            return Ok(());
        }
        match converse(&stream, args.tell, false) {
            Err(Failure::Work(message)) => failure::error(format!("{peer}: {message}")),
            result => result?,
        }
        live.clear();
    }
}

fn options(how: &Transport) -> Result<Options, Failure> {
    Ok(Options { keep_alive: Some(settings::KEEP_ALIVE), ..settings::options(how)? })
}

/// Ctrl-C resets the connection, as no kernel does it. While a listener waits for its next connection,
/// Ctrl-C ends it with status 0.
fn watch(live: &OpenStreams, waits: bool) {
    let live = live.clone();
    interrupt::end_with(move || {
        if waits && live.is_empty() {
            return 0;
        }
        live.abort();
        failure::error("interrupted");
        130
    });
}

enum Ended {
    Received(Result<(), CopyError>),
    Sent(Result<u64, CopyError>),
}

/// Copies in both directions until both have ended.
fn converse(stream: &TouStream, how: Verbosity, sends: bool) -> Result<(), Failure> {
    let story = ConnectionLog::begin(how, stream);
    let received = Arc::new(AtomicU64::new(0));
    let result = copy_both(stream, sends, &received);
    let sent = stream.info().map_or(0, |info| info.bytes_acked);
    story.end(stream, Traffic { sent, received: received.load(Ordering::Relaxed) });
    if result.is_err() {
        // A reset, so that the peer does not take a part for the whole.
        stream.abort();
    }
    result
}

fn copy_both(stream: &TouStream, sends: bool, received: &Arc<AtomicU64>) -> Result<(), Failure> {
    let (sender, ended) = channel();
    receive(stream.clone(), Arc::clone(received), sender.clone())?;
    send(stream.clone(), sends, sender)?;
    let (mut receives, mut sending) = (true, true);
    while receives || sending {
        match ended.recv() {
            Ok(Ended::Received(Ok(()))) => receives = false,
            Ok(Ended::Sent(Ok(_))) => sending = false,
            Ok(Ended::Received(Err(CopyError::Output(error)))) if is_gone(&error) => {
                let sent = !sending || ended.recv_timeout(GRACE).is_ok_and(is_sent);
                return Err(reader_gone(sent));
            }
            Ok(Ended::Sent(Err(CopyError::Connection(error)))) if is_gone(&error) => {
                return Err(failure_of(cause_of(error, &ended)));
            }
            Ok(Ended::Received(Err(fault)) | Ended::Sent(Err(fault))) => {
                return Err(failure_of(fault));
            }
            Err(_) => return Err(Failure::Work("a thread ended early".to_owned())),
        }
    }
    Ok(())
}

fn receive(
    stream: TouStream,
    received: Arc<AtomicU64>,
    tell: Sender<Ended>,
) -> Result<(), Failure> {
    let output = copy::standard_output().map_err(|error| Failure::io("standard output", &error))?;
    thread::spawn(move || {
        let count = |bytes| {
            received.fetch_add(bytes as u64, Ordering::Relaxed);
        };
        let received = copy::receive(&stream, output, count);
        let orderly = received.is_ok();
        let _ = tell.send(Ended::Received(received));
        // The other thread may wait for input and would miss the error.
        if orderly && let Err(error) = copy::until_over(&stream) {
            let _ = tell.send(Ended::Sent(Err(CopyError::Connection(error))));
        }
    });
    Ok(())
}

fn send(stream: TouStream, sends: bool, tell: Sender<Ended>) -> Result<(), Failure> {
    let input = copy::standard_input().map_err(|error| Failure::io("standard input", &error))?;
    thread::spawn(move || {
        let sent =
            if sends { copy::send(&stream, input) } else { copy::send(&stream, io::empty()) };
        let _ = tell.send(Ended::Sent(sent));
    });
    Ok(())
}

fn is_gone(error: &io::Error) -> bool {
    error.kind() == ErrorKind::BrokenPipe
}

fn is_sent(ended: Ended) -> bool {
    matches!(ended, Ended::Sent(Ok(_)))
}

/// The cause of a broken connection. It returns its error once, as SO_ERROR does, and EPIPE from then on:
/// the other thread may have got the error.
fn cause_of(gone: io::Error, ended: &Receiver<Ended>) -> CopyError {
    match ended.recv_timeout(REPORT_MAX) {
        Ok(Ended::Received(Err(cause))) => cause,
        _ => CopyError::Connection(gone),
    }
}

/// Standard output was closed: a failure only if some of the input was not delivered.
fn reader_gone(sent: bool) -> Failure {
    if sent {
        return Failure::ReaderGone;
    }
    Failure::Work("standard output is closed, and the input was not all delivered".to_owned())
}

fn failure_of(fault: CopyError) -> Failure {
    match fault {
        CopyError::Connection(error) => Failure::io("the connection", &error),
        CopyError::Input(error) => Failure::io("standard input", &error),
        CopyError::Output(error) => Failure::io("standard output", &error),
    }
}

/// Stays in TIME-WAIT (RFC 9293 section 3.6.1) for two retransmission timeouts, to acknowledge a
/// retransmitted FIN of the peer. After that the process ends, and no kernel would answer.
fn linger(stream: &TouStream) {
    let Ok(info) = stream.info() else { return };
    if info.state == State::TimeWait {
        thread::sleep((2 * info.rto).min(LINGER_MAX));
    }
}

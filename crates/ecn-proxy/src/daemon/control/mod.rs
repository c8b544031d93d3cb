//! The control socket. The process that holds its lock is the daemon at this path.

use super::protocol::{Answer, Command, REQUEST_LEN_MAX};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use nix::sys::signal;
use nix::sys::socket::{self, AddressFamily, Backlog, SockFlag, SockType, UnixAddr};
use nix::unistd::Pid;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufRead, BufReader, BufWriter, ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{error, fmt, thread};

/// Largest number of simultaneous connections; further ones are refused.
const CONNECTIONS_MAX: usize = 32;
/// Time limit for a client to send or receive one line.
const PATIENCE: Duration = Duration::from_secs(30);
/// Time that the lock of a daemon that has ended may stay held, by a child that it had forked.
const ORPHANED_LOCK_TIME_MAX: Duration = Duration::from_secs(1);

/// Answers a command, line by line.
pub(super) trait Respond: Send + Sync {
    /// Writes the answer.
    ///
    /// # Errors
    ///
    /// The client closed the connection or did not read in time.
    fn respond(&self, command: Command, out: &mut dyn Write) -> io::Result<()>;
}

/// The control socket could not be created.
#[derive(Debug)]
pub(super) enum SocketError {
    /// Another daemon holds the lock.
    Taken {
        /// The socket.
        socket: PathBuf,
        /// Process id of the other daemon, if its lock file contains one.
        pid: String,
    },
    /// A file could not be created.
    Io(PathBuf, io::Error),
}

impl fmt::Display for SocketError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SocketError::Taken { socket, pid } => write!(
                f,
                "another ECN proxy runs at {} (process {pid}): windlass ecn-proxy stop ends it, \
                 --socket gives this one another place",
                socket.display()
            ),
            SocketError::Io(path, error) => write!(f, "{}: {error}", path.display()),
        }
    }
}

impl error::Error for SocketError {}

/// The socket and its lock. Dropping the value removes both files.
#[derive(Debug)]
pub(super) struct Socket {
    path: PathBuf,
    pid_path: PathBuf,
    listener: UnixListener,
    _lock: Flock<File>,
}

impl Socket {
    /// Takes the socket.
    pub(super) fn bind(path: &Path) -> Result<Socket, SocketError> {
        let io = |error| SocketError::Io(path.to_owned(), error);
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder).map_err(|error| SocketError::Io(folder.into(), error))?;
        }
        let pid_path = path.with_extension("pid");
        let lock = lock(&pid_path, path)?;
        // A left-over socket: this process holds the lock, so no daemon listens there.
        match fs::remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(io(error)),
            _ => {}
        }
        let listener = listen(path).map_err(io)?;
        Ok(Socket { path: path.to_owned(), pid_path, listener, _lock: lock })
    }

    /// Serves each connection in a thread of its own until the process ends.
    pub(super) fn serve(&self, respond: Arc<dyn Respond>) -> io::Result<()> {
        let listener = self.listener.try_clone()?;
        thread::Builder::new().name("control".into()).spawn(move || accept(&listener, &respond))?;
        Ok(())
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
        let _ = fs::remove_file(&self.pid_path);
    }
}

/// Only root, and a group that the service manager may set, can connect. The mode is set before the
/// socket listens, so no other user can connect in between.
fn listen(path: &Path) -> io::Result<UnixListener> {
    let socket =
        socket::socket(AddressFamily::Unix, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?;
    socket::bind(socket.as_raw_fd(), &UnixAddr::new(path)?)?;
    fs::set_permissions(path, Permissions::from_mode(0o660))?;
    socket::listen(&socket, Backlog::MAXCONN)?;
    Ok(socket.into())
}

/// The kernel releases the lock when the process ends in any way, so a held lock proves a running
/// daemon; except that a child which a killed daemon had just forked holds it until its `exec`.
fn lock(path: &Path, socket: &Path) -> Result<Flock<File>, SocketError> {
    let io = |error| SocketError::Io(path.to_owned(), error);
    let deadline = Instant::now() + ORPHANED_LOCK_TIME_MAX;
    loop {
        let options =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let mut lock = match Flock::lock(options.map_err(io)?, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => lock,
            Err((mut file, Errno::EWOULDBLOCK)) => {
                let mut pid = String::new();
                let _ = file.read_to_string(&mut pid);
                if !is_alive(&pid) && Instant::now() < deadline {
                    thread::sleep(Duration::from_millis(10));
                    continue;
                }
                return Err(SocketError::Taken { socket: socket.into(), pid: pid.trim().into() });
            }
            Err((_, errno)) => return Err(io(errno.into())),
        };
        // If the last owner has removed the file meanwhile, the lock protects nothing.
        let own = lock.metadata().map_err(io)?.ino();
        if fs::metadata(path).is_ok_and(|file| file.ino() == own) {
            lock.set_len(0).map_err(io)?;
            writeln!(lock, "{}", std::process::id()).map_err(io)?;
            return Ok(lock);
        }
    }
}

/// False if the text is the id of a process that has ended. An empty file belongs to a daemon that
/// is about to write its id.
fn is_alive(pid: &str) -> bool {
    let Ok(pid) = pid.trim().parse() else { return true };
    signal::kill(Pid::from_raw(pid), None) != Err(Errno::ESRCH)
}

fn accept(listener: &UnixListener, respond: &Arc<dyn Respond>) {
    let count = Arc::new(AtomicUsize::new(0));
    for stream in listener.incoming() {
        let Ok(stream) = stream else {
            // For example, no file descriptor is free: try again later.
            thread::sleep(Duration::from_millis(100));
            continue;
        };
        let open = Open::one_more(&count);
        let respond = Arc::clone(respond);
        let too_many = open.0.load(Ordering::Relaxed) > CONNECTIONS_MAX;
        let talk = move || {
            let _open = open;
            // A client that closes the connection during an answer does not need it.
            let _ = match too_many {
                true => refuse(&stream, "too many at once, try again"),
                false => converse(&stream, &*respond),
            };
        };
        let _ = thread::Builder::new().name("control-client".into()).spawn(talk);
    }
}

/// Counts a connection while it is open.
struct Open(Arc<AtomicUsize>);

impl Open {
    fn one_more(count: &Arc<AtomicUsize>) -> Open {
        count.fetch_add(1, Ordering::Relaxed);
        Open(Arc::clone(count))
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Handles requests until the client closes the connection or sends a bad one.
fn converse(stream: &UnixStream, respond: &dyn Respond) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut reader = BufReader::new(stream);
    let mut line = Vec::new();
    loop {
        line.clear();
        let limit = REQUEST_LEN_MAX as u64 + 1;
        reader.by_ref().take(limit).read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Ok(());
        }
        if line.len() > REQUEST_LEN_MAX {
            return refuse(stream, &format!("expected at most {REQUEST_LEN_MAX} bytes"));
        }
        match Command::parse(&line) {
            Ok(command) => {
                let mut out = BufWriter::new(stream);
                respond.respond(command, &mut out)?;
                out.flush()?;
            }
            Err(message) => return refuse(stream, &message),
        }
    }
}

fn refuse(mut stream: &UnixStream, message: &str) -> io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(Answer::error(message).line().as_bytes())
}

#[cfg(test)]
mod tests;

//! The control socket: who holds its lock is the daemon there.

use super::protocol::{Answer, Command, REQUEST_LEN_MAX};
use nix::fcntl::{Flock, FlockArg};
use nix::sys::socket::{self, AddressFamily, Backlog, SockFlag, SockType, UnixAddr};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufRead, BufReader, BufWriter, ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use std::{error, fmt, thread};

/// Connections at once; one more is refused.
const CONNECTIONS_MAX: usize = 32;
/// How long who asks may take for a line, or for taking one.
const PATIENCE: Duration = Duration::from_secs(30);

/// Answers a command, line by line.
pub(super) trait Respond: Send + Sync {
    /// Writes the answer. An error is of the connection.
    fn respond(&self, command: Command, out: &mut dyn Write) -> io::Result<()>;
}

/// Why there is no socket.
#[derive(Debug)]
#[non_exhaustive]
pub enum SocketError {
    /// Another daemon has it.
    Taken {
        /// The socket.
        socket: PathBuf,
        /// The other daemon, if it says.
        pid: String,
    },
    /// A file could not be made.
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

/// The socket and its lock; both files go with the value.
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
        // Nobody listens there, since this process has the lock.
        match fs::remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(io(error)),
            _ => {}
        }
        let listener = listen(path).map_err(io)?;
        Ok(Socket { path: path.to_owned(), pid_path, listener, _lock: lock })
    }

    /// Answers in threads of its own until the process ends.
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

/// For root, and the group that the service manager may give: nobody can connect to it before it
/// listens, and then it has its mode.
fn listen(path: &Path) -> io::Result<UnixListener> {
    let socket =
        socket::socket(AddressFamily::Unix, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?;
    socket::bind(socket.as_raw_fd(), &UnixAddr::new(path)?)?;
    fs::set_permissions(path, Permissions::from_mode(0o660))?;
    socket::listen(&socket, Backlog::MAXCONN)?;
    Ok(socket.into())
}

/// The lock goes with the process, however that ends; so it says better than the socket who is there.
fn lock(path: &Path, socket: &Path) -> Result<Flock<File>, SocketError> {
    let io = |error| SocketError::Io(path.to_owned(), error);
    loop {
        let options =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let mut lock = match Flock::lock(options.map_err(io)?, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => lock,
            Err((mut file, nix::errno::Errno::EWOULDBLOCK)) => {
                let mut pid = String::new();
                let _ = file.read_to_string(&mut pid);
                return Err(SocketError::Taken { socket: socket.into(), pid: pid.trim().into() });
            }
            Err((_, errno)) => return Err(io(errno.into())),
        };
        // Its last owner may have removed it meanwhile: then the lock is of no use.
        let own = lock.metadata().map_err(io)?.ino();
        if fs::metadata(path).is_ok_and(|file| file.ino() == own) {
            lock.set_len(0).map_err(io)?;
            writeln!(lock, "{}", std::process::id()).map_err(io)?;
            return Ok(lock);
        }
    }
}

fn accept(listener: &UnixListener, respond: &Arc<dyn Respond>) {
    let count = Arc::new(AtomicUsize::new(0));
    for stream in listener.incoming() {
        let Ok(stream) = stream else {
            // Out of file descriptors, say: later again.
            thread::sleep(Duration::from_millis(100));
            continue;
        };
        let open = Open::one_more(&count);
        let respond = Arc::clone(respond);
        let too_many = open.0.load(Ordering::Relaxed) > CONNECTIONS_MAX;
        let talk = move || {
            let _open = open;
            // Whoever goes away in the middle of an answer does not want it.
            let _ = match too_many {
                true => refuse(&stream, "too many at once, try again"),
                false => converse(&stream, &*respond),
            };
        };
        let _ = thread::Builder::new().name("control-client".into()).spawn(talk);
    }
}

/// Counts a connection as long as it lives.
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

/// Request after request until the other side closes; the first bad one ends it.
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

//! Asks a daemon over its control socket: the commands `status`, `stats`, `flows`, `hosts`, `on`, `off` and `stop`
//! of the command line. [`protocol`](super::protocol) has the messages.

use super::protocol::{Answer, Body, Command};
use serde_json::Value;
use std::io::{self, BufRead, BufReader, Lines, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{error, fmt};

/// How long the daemon may take for a line; it may have a long table to count.
const PATIENCE: Duration = Duration::from_secs(60);

/// Why there is no answer.
#[derive(Debug)]
#[non_exhaustive]
pub enum AskError {
    /// No daemon is there.
    NoDaemon(PathBuf),
    /// The socket is not for this user.
    NotPermitted(PathBuf),
    /// The daemon did not answer, or not as expected.
    Broken(PathBuf, String),
    /// The daemon refuses, and says why.
    Refused(String),
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AskError::NoDaemon(path) => write!(
                f,
                "no ECN proxy answers at {} (windlass ecn-proxy run starts one; --socket says where \
                 it listens)",
                path.display()
            ),
            AskError::NotPermitted(path) => {
                write!(f, "not permitted: {} is for root and its group", path.display())
            }
            AskError::Broken(path, what) => write!(f, "{}: {what}", path.display()),
            AskError::Refused(message) => f.write_str(message),
        }
    }
}

impl error::Error for AskError {}

/// The lines of an answer.
#[derive(Debug)]
pub struct Answers {
    path: PathBuf,
    stream: UnixStream,
    lines: Lines<BufReader<UnixStream>>,
}

/// Asks the daemon at `socket`.
///
/// # Errors
///
/// No daemon, or not for this user.
pub fn ask(socket: &Path, command: Command) -> Result<Answers, AskError> {
    let mut stream = UnixStream::connect(socket).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
            AskError::NoDaemon(socket.to_owned())
        }
        io::ErrorKind::PermissionDenied => AskError::NotPermitted(socket.to_owned()),
        _ => AskError::Broken(socket.to_owned(), error.to_string()),
    })?;
    let broken = |error: io::Error| AskError::Broken(socket.to_owned(), error.to_string());
    stream.set_read_timeout(Some(PATIENCE)).map_err(broken)?;
    stream.write_all(command.line().as_bytes()).map_err(broken)?;
    let lines = BufReader::new(stream.try_clone().map_err(broken)?).lines();
    Ok(Answers { path: socket.to_owned(), stream, lines })
}

impl Answers {
    /// Passes each connection or device to `item`, and returns the result after the last.
    ///
    /// # Errors
    ///
    /// The daemon refuses, or ends in the middle; the error of `item`.
    pub fn finish<E: From<AskError>>(
        &mut self,
        mut item: impl FnMut(Value) -> Result<(), E>,
    ) -> Result<Value, E> {
        loop {
            let line = self.lines.next();
            match self.read(line)? {
                Body::Flow(value) | Body::Device(value) => item(value)?,
                Body::Result(value) => return Ok(value),
                Body::Error(message) => return Err(AskError::Refused(message).into()),
            }
        }
    }

    /// The result of a command that lists no connections.
    ///
    /// # Errors
    ///
    /// As [`Answers::finish`].
    pub fn result(&mut self) -> Result<Value, AskError> {
        self.finish(|_| Ok(()))
    }

    /// Waits until the daemon has closed the connection, as it does when it ends.
    ///
    /// # Errors
    ///
    /// The socket fails.
    pub fn wait_for_the_end(&mut self) -> Result<(), AskError> {
        let broken = |error: io::Error| AskError::Broken(self.path.clone(), error.to_string());
        self.stream.set_read_timeout(None).map_err(broken)?;
        match self.lines.next() {
            None => Ok(()),
            Some(Err(error)) if error.kind() == io::ErrorKind::ConnectionReset => Ok(()),
            Some(Err(error)) => Err(AskError::Broken(self.path.clone(), error.to_string())),
            Some(Ok(line)) => {
                Err(AskError::Broken(self.path.clone(), format!("unexpected: {line}")))
            }
        }
    }

    fn read(&self, line: Option<io::Result<String>>) -> Result<Body, AskError> {
        let broken = |what: String| AskError::Broken(self.path.clone(), what);
        let line = line.ok_or_else(|| broken("the ECN proxy ended in the middle".into()))?;
        let line = line.map_err(|error| broken(error.to_string()))?;
        let answer: Result<Answer, _> = serde_json::from_str(&line);
        answer.map(|answer| answer.body).map_err(|error| broken(format!("{error}: {line}")))
    }
}

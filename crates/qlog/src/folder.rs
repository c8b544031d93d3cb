//! A folder of files, one for each connection.

use crate::connection::{ConnectionLog, Path};
use crate::log::Header;
use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};
use windlass_base::Time;
use windlass_tcp::{Connection, Observer, TraceEvent};

/// The file of one connection, which ends with the value. If it cannot be written to its end, it is
/// removed.
#[derive(Debug)]
pub struct FileLog {
    /// Present until the value is dropped, or a write fails.
    log: Option<ConnectionLog<File>>,
    path: PathBuf,
    folder: Folder,
}

impl FileLog {
    /// Calls the log, and gives it up after a failure.
    fn call(&mut self, call: impl FnOnce(&mut ConnectionLog<File>)) {
        let Some(log) = &mut self.log else { return };
        call(log);
        if log.error().is_some() {
            self.end();
        }
    }

    fn end(&mut self) {
        if let Some(Err(error)) = self.log.take().map(ConnectionLog::finish) {
            // The folder's error says why.
            let _ = fs::remove_file(&self.path);
            self.folder.note(error);
        }
    }
}

impl FileLog {
    /// As [`ConnectionLog::path_updated`].
    pub fn path_updated(&mut self, now: Time, path: Option<&Path>) {
        self.call(|log| log.path_updated(now, path));
    }
}

impl Observer for FileLog {
    fn observe(&mut self, now: Time, event: TraceEvent) {
        self.call(|log| log.observe(now, event));
    }
}

impl Drop for FileLog {
    fn drop(&mut self) {
        self.end();
    }
}

/// A folder in which each connection gets a file of its own, `TIME-PROCESS-NUMBER.sqlog`. Clones are
/// references to the same folder.
#[derive(Clone, Debug)]
pub struct Folder(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    /// `TIME-PROCESS`, the beginning of the names of this process's files.
    prefix: String,
    next: AtomicU32,
    /// The first failure.
    error: Mutex<Option<io::Error>>,
}

impl Folder {
    /// Makes the folder, if it does not exist.
    ///
    /// # Errors
    ///
    /// If it cannot be made.
    pub fn create(path: impl Into<PathBuf>) -> io::Result<Folder> {
        let path = path.into();
        fs::create_dir_all(&path)?;
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let prefix = format!("{}-{}", since.as_millis(), std::process::id());
        let (next, error) = (AtomicU32::new(0), Mutex::new(None));
        Ok(Folder(Arc::new(Inner { path, prefix, next, error })))
    }

    /// Where it is.
    pub fn path(&self) -> &std::path::Path {
        &self.0.path
    }

    /// Begins the file of a connection. `None` if it cannot be made; see [`Folder::take_error`].
    pub fn begin(&self, header: &Header<'_>, connection: &Connection) -> Option<FileLog> {
        let number = self.0.next.fetch_add(1, Ordering::Relaxed);
        let path = self.0.path.join(format!("{}-{number}.sqlog", self.0.prefix));
        let file = File::create_new(&path).map_err(|error| self.note(error)).ok()?;
        let log = Some(ConnectionLog::begin(file, header, connection));
        Some(FileLog { log, path, folder: self.clone() })
    }

    /// The first failure to make or to write a file since the last call.
    pub fn take_error(&self) -> Option<io::Error> {
        self.0.error.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn note(&self, error: io::Error) {
        self.0.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }
}

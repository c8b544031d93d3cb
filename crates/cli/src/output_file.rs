//! Files of results that are complete or do not exist.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A file that is removed if it is dropped before [`OutputFile::finish`], because the disk is full
/// or the work has failed.
#[derive(Debug)]
pub(crate) struct OutputFile {
    out: Option<BufWriter<File>>,
    /// Where it is written; `None` for a device, which stays.
    written: Option<PathBuf>,
    /// Its name in the end, if that is another one.
    target: Option<PathBuf>,
}

impl OutputFile {
    /// Makes a file, which must not exist. It can be read while it grows.
    pub(crate) fn create_new(path: &Path) -> io::Result<OutputFile> {
        let out = Some(BufWriter::new(File::create_new(path)?));
        Ok(OutputFile { out, written: Some(path.to_owned()), target: None })
    }

    /// Takes the place of the file at `path` in the end, if there is one. A device or a pipe is
    /// written to.
    pub(crate) fn replace(path: &Path) -> io::Result<OutputFile> {
        if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            let out = Some(BufWriter::new(File::create(path)?));
            return Ok(OutputFile { out, written: None, target: None });
        }
        // The file itself, not a link to it.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let mut name = OsString::from(".");
        name.push(target.file_name().ok_or(io::ErrorKind::InvalidInput)?);
        name.push(format!(".{}.tmp", std::process::id()));
        let temporary = target.with_file_name(name);
        let mut file = OutputFile::create_new(&temporary)?;
        file.target = Some(target);
        Ok(file)
    }

    /// Writes what is left and gives the file its name.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        if let Some(out) = self.out.take() {
            // Not before: the file is removed if this fails.
            let flushed = out.into_inner().map_err(io::Error::from);
            let moved = flushed.and_then(|_| match (&self.written, &self.target) {
                (Some(written), Some(target)) => fs::rename(written, target),
                _ => Ok(()),
            });
            if moved.is_err() {
                self.remove();
            }
            return moved;
        }
        Ok(())
    }

    fn remove(&self) {
        if let Some(path) = &self.written {
            // The cause has been reported already.
            let _ = fs::remove_file(path);
        }
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.as_mut().map_or(Ok(0), |out| out.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if let Some(out) = self.out.take() {
            // Without what the buffer holds.
            drop(out.into_parts());
            self.remove();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let path = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
            fs::create_dir(&path).expect("a folder");
            Folder(path)
        }

        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(&self.0).expect("a folder");
            entries.map(|one| one.expect("one").file_name().into_string().expect("UTF-8")).collect()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_file_is_complete_or_what_it_was() {
        let folder = Folder::new("windlass-output-file");
        let path = folder.0.join("report");
        for (text, finished) in [("first", true), ("second", false), ("third", true)] {
            let before = fs::read_to_string(&path).unwrap_or_default();
            let mut file = OutputFile::replace(&path).expect("a file");
            file.write_all(text.as_bytes()).expect("written");
            assert_eq!(fs::read_to_string(&path).unwrap_or_default(), before);
            if finished {
                file.finish().expect("renamed");
                assert_eq!(fs::read_to_string(&path).expect("there"), text);
            }
        }
        let mut new = OutputFile::create_new(&folder.0.join("new")).expect("a file");
        new.write_all(b"half").expect("written");
        drop(new);
        assert_eq!(folder.names(), ["report"]);
        assert!(OutputFile::create_new(&path).is_err(), "it exists");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_full_disk_is_an_error() {
        let mut full = OutputFile::replace(Path::new("/dev/full")).expect("a device");
        full.write_all(b"some").expect("in the buffer");
        assert_eq!(full.finish().expect_err("no space").kind(), io::ErrorKind::StorageFull);
        assert!(Path::new("/dev/full").exists());
    }
}

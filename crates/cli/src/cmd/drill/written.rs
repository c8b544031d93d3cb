//! The files of a drill.

use super::args::Drill;
use crate::failure::Failure;
use crate::output_file::OutputFile;
use std::io::Write;
use std::path::{Path, PathBuf};
use windlass_drill::report::{self, Played, Report};

/// The files that the arguments ask for, refused before the work if they cannot be made.
pub(super) struct Output {
    junit: Option<(PathBuf, OutputFile)>,
    capture: Option<(PathBuf, OutputFile)>,
    qlog: Option<(PathBuf, OutputFile)>,
}

impl Output {
    /// Those for so many scripts. Packets of several would not fit into one file.
    pub(super) fn create(args: &Drill, scripts: usize) -> Result<Output, Failure> {
        for (option, path) in [("--capture", &args.capture), ("--qlog", &args.qlog)] {
            if path.is_some() && scripts != 1 {
                return Err(Failure::Input(format!(
                    "{option} takes one script; there are {scripts}"
                )));
            }
        }
        Ok(Output {
            junit: file("--junit", args.junit.as_deref())?,
            capture: file("--capture", args.capture.as_deref())?,
            qlog: file("--qlog", args.qlog.as_deref())?,
        })
    }

    pub(super) fn write(self, report: &Report) -> Result<(), Failure> {
        if let Some(file) = self.junit {
            finish(file, report.junit().map_err(Failure::Work)?.as_bytes())?;
        }
        let Some(Played { name, run: Ok(run) }) = report.scripts.first() else { return Ok(()) };
        if let Some(file) = self.capture {
            finish(file, &report::capture(name, run))?;
        }
        if let Some(file) = self.qlog {
            finish(file, &report::qlog(name, run))?;
        }
        Ok(())
    }
}

fn file(option: &str, path: Option<&Path>) -> Result<Option<(PathBuf, OutputFile)>, Failure> {
    let made = path.map(|path| {
        let made = OutputFile::replace(path).map(|file| (path.to_owned(), file));
        made.map_err(|error| {
            Failure::Input(format!("{option} {}: cannot be written: {error}", path.display()))
        })
    });
    made.transpose()
}

fn finish((path, mut file): (PathBuf, OutputFile), bytes: &[u8]) -> Result<(), Failure> {
    let written = file.write_all(bytes).and_then(|()| file.finish());
    written.map_err(|error| Failure::io(path.display(), &error))
}

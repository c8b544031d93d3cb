//! The files of a judgement.

use super::args::Judge;
use crate::failure::Failure;
use crate::output_dir::OutputDir;
use crate::output_file::OutputFile;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use windlass_judge::report::{Examined, Report};

/// The files that the arguments ask for, refused before the work if they cannot be made.
pub(super) struct Output {
    junit: Option<(PathBuf, OutputFile)>,
    page: Option<(PathBuf, OutputFile)>,
    qlog: Option<OutputDir>,
    pcap: Option<OutputDir>,
}

impl Output {
    pub(super) fn create(args: &Judge) -> Result<Output, Failure> {
        let file = |option: &str, path: &Option<PathBuf>| {
            let made = path.as_ref().map(|path| Ok((path.clone(), OutputFile::replace(path)?)));
            made.transpose().map_err(|error: std::io::Error| {
                let path = path.as_deref().unwrap_or(Path::new("")).display();
                Failure::Input(format!("{option} {path}: cannot be written: {error}"))
            })
        };
        Ok(Output {
            junit: file("--junit", &args.junit)?,
            page: file("--page", &args.page)?,
            qlog: folder("--qlog ", &args.qlog)?,
            pcap: folder("--pcap ", &args.pcap)?,
        })
    }

    pub(super) fn write(self, report: &Report) -> Result<(), Failure> {
        if let Some(file) = self.junit {
            finish(file, &report.junit().map_err(Failure::Work)?)?;
        }
        if let Some(file) = self.page {
            finish(file, &report.page().map_err(Failure::Work)?)?;
        }
        traces(self.qlog, "sqlog", report, |one| one.qlog.as_deref())?;
        traces(self.pcap, "pcapng", report, |one| one.pcap.as_deref())
    }
}

fn folder(option: &str, path: &Option<PathBuf>) -> Result<Option<OutputDir>, Failure> {
    path.as_ref().map(|path| OutputDir::create_for(path, option)).transpose()
}

/// A file for each case that has a trace.
fn traces(
    folder: Option<OutputDir>,
    extension: &str,
    report: &Report,
    trace: fn(&Examined) -> Option<&[u8]>,
) -> Result<(), Failure> {
    let Some(folder) = folder else { return Ok(()) };
    for one in &report.examined {
        if let Some(bytes) = trace(one) {
            let name = format!("{}-{}.{extension}", one.suite.name, one.case.name);
            let path = folder.path().join(name);
            fs::write(&path, bytes).map_err(|error| Failure::io(path.display(), &error))?;
        }
    }
    folder.finish()
}

fn finish((path, mut file): (PathBuf, OutputFile), text: &str) -> Result<(), Failure> {
    let written = file.write_all(text.as_bytes()).and_then(|()| file.finish());
    written.map_err(|error| Failure::io(path.display(), &error))
}

//! The files of a judgement.

use super::args::Judge;
use crate::failure::Failure;
use crate::output_dir::OutputDir;
use crate::output_file::OutputFile;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use windlass_judge::report::Report;

/// The files that the arguments ask for, refused before the work if they cannot be made.
pub(super) struct Output {
    junit: Option<(PathBuf, OutputFile)>,
    page: Option<(PathBuf, OutputFile)>,
    qlog: Option<OutputDir>,
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
            qlog: args
                .qlog
                .as_ref()
                .map(|path| OutputDir::create_for(path, "--qlog "))
                .transpose()?,
        })
    }

    pub(super) fn write(self, report: &Report) -> Result<(), Failure> {
        if let Some(file) = self.junit {
            finish(file, &report.junit().map_err(Failure::Work)?)?;
        }
        if let Some(file) = self.page {
            finish(file, &report.page().map_err(Failure::Work)?)?;
        }
        let Some(folder) = self.qlog else { return Ok(()) };
        for one in &report.examined {
            if let Some(bytes) = &one.qlog {
                let name = format!("{}-{}.sqlog", one.suite.name, one.case.name);
                let path = folder.path().join(name);
                fs::write(&path, bytes).map_err(|error| Failure::io(path.display(), &error))?;
            }
        }
        folder.finish()
    }
}

fn finish((path, mut file): (PathBuf, OutputFile), text: &str) -> Result<(), Failure> {
    let written = file.write_all(text.as_bytes()).and_then(|()| file.finish());
    written.map_err(|error| Failure::io(path.display(), &error))
}

use std::{error, fmt};

/// The reasons for which the kernel refuses to load or attach a program.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The kernel lacks a feature; the text names it.
    Lacking(String),
    /// This user lacks the permission; the text says which.
    NotPermitted(String),
    /// The kernel refused for another reason.
    Refused {
        /// The step that failed, as a phrase for the message: "attaching the programs".
        doing: &'static str,
        /// The kernel's error, as libbpf returned it.
        source: libbpf_rs::Error,
        /// The warnings of libbpf, the verifier's log among them. `Display` prints its last lines.
        log: String,
    },
}

impl Error {
    /// Makes an error of the kernel's answer to the step `doing`, and takes libbpf's log since
    /// [`crate::log::begin`].
    pub fn kernel(doing: &'static str, source: libbpf_rs::Error) -> Error {
        let log = crate::log::take();
        // The verifier returns EACCES too, but its log has the reason.
        let by_verifier = log.contains("PROG LOAD LOG");
        if source.kind() == libbpf_rs::ErrorKind::PermissionDenied && !by_verifier {
            return Error::NotPermitted(format!("{doing}: {source}"));
        }
        Error::Refused { doing, source, log }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Lacking(what) => f.write_str(what),
            Error::NotPermitted(what) => write!(f, "not permitted ({what})"),
            Error::Refused { doing, source, log } => {
                write!(f, "{doing}: {source:#}")?;
                let log = crate::log::last_lines(log);
                if log.is_empty() { Ok(()) } else { write!(f, "\n{log}") }
            }
        }
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Error::Refused { source, .. } => Some(source),
            _ => None,
        }
    }
}

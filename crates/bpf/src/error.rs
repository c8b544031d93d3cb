use std::{error, fmt};

/// Why the kernel did not take a program, or not there.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// It lacks what is needed: this.
    Lacking(String),
    /// It does not let this user.
    NotPermitted(String),
    /// It refused; with all that libbpf has to say.
    Refused {
        /// What was being done.
        doing: &'static str,
        /// Its answer.
        source: libbpf_rs::Error,
        /// The warnings of libbpf, and of the verifier through it.
        log: String,
    },
}

impl Error {
    /// An answer of the kernel to `doing`, with the log gathered meanwhile.
    pub fn kernel(doing: &'static str, source: libbpf_rs::Error) -> Error {
        let log = crate::log::take();
        // The verifier says EACCES too, but has a reason.
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

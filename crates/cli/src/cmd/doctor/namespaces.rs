//! Can this user make a network namespace? It is tried, in a child that ends with it.

use super::finding::Finding::{self, Missing, Present};
use crate::failure::Failure;
use std::env;
use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// The name under which this program runs as the child: no argument, for those are the user's.
const CHILD: &str = "windlass-doctor-child";

/// The namespaces that the child makes.
#[derive(Copy, Clone, Debug)]
enum Attempt {
    /// A network namespace.
    Net,
    /// A network namespace in a new user namespace.
    UserNet,
}

impl Attempt {
    fn name(self) -> &'static str {
        match self {
            Attempt::Net => "net",
            Attempt::UserNet => "user-net",
        }
    }
}

/// Tries it as this user, and then in a user namespace.
pub(super) fn look() -> Finding {
    if succeeds(Attempt::Net).is_ok() {
        return Present("can be made".to_owned());
    }
    match succeeds(Attempt::UserNet) {
        Ok(()) => Present("can be made in a user namespace".to_owned()),
        Err(why) => Missing(match user_namespaces_max() {
            Some(0) => format!("{why}; user.max_user_namespaces is 0"),
            _ => why,
        }),
    }
}

/// A process with several threads cannot enter a user namespace, and what one has entered it cannot
/// leave: so this program is run again, to do that and nothing else.
fn succeeds(attempt: Attempt) -> Result<(), String> {
    let output = env::current_exe()
        .and_then(|program| {
            let mut child = Command::new(program);
            child.arg0(CHILD).arg(attempt.name()).stdin(Stdio::null()).output()
        })
        .map_err(|error| format!("could not be tried: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => {
            let message = String::from_utf8_lossy(&output.stderr);
            Err(message.trim().trim_start_matches("error: ").to_owned())
        }
    }
}

fn user_namespaces_max() -> Option<u64> {
    fs::read_to_string("/proc/sys/user/max_user_namespaces").ok()?.trim().parse().ok()
}

/// The result of the attempt, if this process is the child; `None` in any other process.
pub(crate) fn child() -> Option<Result<(), Failure>> {
    let mut args = env::args_os();
    if args.next()? != CHILD {
        return None;
    }
    let asked = args.next()?;
    let known = [Attempt::Net, Attempt::UserNet].into_iter();
    Some(known.filter(|known| asked == known.name()).try_for_each(attempt))
}

/// The child's part.
fn attempt(attempt: Attempt) -> Result<(), Failure> {
    use nix::sched::{CloneFlags, unshare};
    let flags = match attempt {
        Attempt::Net => CloneFlags::CLONE_NEWNET,
        Attempt::UserNet => CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET,
    };
    unshare(flags).map_err(|error| Failure::Work(format!("unshare: {}", error.desc())))
}

//! The subject that the arguments name.

use super::args::{Judge, NamedKernel};
use super::built::Crate;
use crate::failure::Failure;
use crate::registry::{controller_names, registry};
use crate::value::parse_controller;
use windlass_judge::{Engine, Subject as Judged};
use windlass_tcp::Profile;

/// A sender to judge.
pub(super) enum Subject {
    /// A sender of this process, with the profile of its options unless they are its own.
    Here(Box<dyn Judged + Sync>, Option<Profile>),
    /// A controller of a kernel.
    Kernel(NamedKernel),
    /// A controller of a crate, whose command judges it.
    Crate(Crate),
}

impl Subject {
    /// The subject that the arguments name; without one, the controller that this command's crate adds.
    pub(super) fn find(args: &Judge) -> Result<Subject, Failure> {
        match (&args.kernel, &args.subject) {
            (Some(kernel), _) => Ok(Subject::Kernel(kernel.clone())),
            (None, Some(text)) => match Crate::find(text, args)? {
                Some(found) => Ok(Subject::Crate(found)),
                None => Subject::named(text, args.profile),
            },
            (None, None) => Subject::named(own_name()?, args.profile),
        }
    }

    fn named(text: &str, profile: Profile) -> Result<Subject, Failure> {
        let controller = parse_controller(text, profile)
            .map_err(|why| Failure::Input(format!("CONTROLLER {text}: {why}")))?;
        let engine = Engine::new(controller).with_profile(profile);
        Ok(Subject::Here(Box::new(engine), Some(profile)))
    }
}

/// The name of the controller that this command's crate adds.
pub(super) fn own_name() -> Result<&'static str, Failure> {
    match registry().controller_names()[..] {
        [name] => Ok(name),
        [] => Err(Failure::Input(format!(
            "CONTROLLER: which one? One of {}, or the folder of a crate",
            controller_names().join(", ")
        ))),
        ref several => {
            let names = several.join(", ");
            Err(Failure::Input(format!("CONTROLLER: which one? This command adds {names}")))
        }
    }
}

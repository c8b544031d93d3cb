//! The controllers as subjects of the judge.

use crate::{NoqControl, QuinnControl, S2nControl};
use std::sync::Arc;
use windlass_base::Time;
use windlass_judge::{Engine, Sender, Setup, Subject};
use windlass_tcp::cc::ControllerFactory;

/// The stacks with a controller that the engine can have.
pub const STACKS: [&str; 3] = ["quinn", "noq", "s2n"];

/// A controller of a stack on the engine.
#[derive(Clone, Debug)]
pub struct OfStack {
    stack: &'static str,
    engine: Engine,
}

impl OfStack {
    /// A controller of [`STACKS`] by its name, or the stack's default one.
    ///
    /// # Errors
    ///
    /// There is no such stack, or it has no such controller: those that there are.
    pub fn named(stack: &str, controller: Option<&str>) -> Result<OfStack, String> {
        let Some(stack) = STACKS.into_iter().find(|known| *known == stack) else {
            return Err(format!("the stacks are {}", STACKS.join(", ")));
        };
        let all = controllers(stack);
        let wanted = controller.unwrap_or("cubic");
        let found = all.iter().find(|factory| factory.name() == wanted);
        let factory = found.cloned().ok_or_else(|| {
            let names: Vec<&str> = all.iter().map(|factory| factory.name()).collect();
            format!("the controllers of {stack} are {}", names.join(", "))
        })?;
        Ok(OfStack { stack, engine: Engine::new(factory) })
    }
}

fn controllers(stack: &str) -> Vec<Arc<dyn ControllerFactory>> {
    match stack {
        "quinn" => vec![
            Arc::new(QuinnControl::Cubic),
            Arc::new(QuinnControl::NewReno),
            Arc::new(QuinnControl::Bbr),
        ],
        "noq" => vec![
            Arc::new(NoqControl::Cubic),
            Arc::new(NoqControl::NewReno),
            Arc::new(NoqControl::Bbr3),
        ],
        _ => vec![Arc::new(S2nControl::Cubic), Arc::new(S2nControl::Bbr)],
    }
}

impl Subject for OfStack {
    fn name(&self) -> String {
        format!("{} {}", self.stack, self.engine.controller())
    }

    fn controller(&self) -> String {
        self.engine.controller()
    }

    fn open(&self, setup: &Setup, now: Time) -> Result<Box<dyn Sender>, String> {
        self.engine.open(setup, now)
    }
}

//! The verdict of a program on a sender.

/// How a program ends early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The sender does not do what the clause demands; the reason.
    Failed(String),
    /// Whether it does cannot be seen; the reason.
    NotObservable(String),
}

/// The result of a program.
pub type Verdict = Result<(), Fault>;

/// Returns the reason from a program unless the condition holds.
macro_rules! demand {
    ($holds:expr, $($reason:tt)+) => {
        // A value that is not a number holds nothing.
        match $holds {
            true => {}
            false => return Err($crate::verdict::Fault::Failed(format!($($reason)+))),
        }
    };
}
pub(crate) use demand;

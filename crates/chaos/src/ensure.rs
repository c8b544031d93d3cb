//! Checks that end with the words for what does not hold.

/// Returns `Err` with the formatted words from the function if the condition is false.
macro_rules! ensure {
    ($holds:expr, $($what:tt)+) => {
        if !$holds {
            return Err(format!($($what)+));
        }
    };
}

pub(crate) use ensure;

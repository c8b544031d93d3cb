//! Replaces live views in a build without the feature `live`: every `--live` is refused.

use super::screen::Screen;
use crate::failure::Failure;
use std::convert::Infallible;
use std::marker::PhantomData;

/// Turns samples of a tool's state into screens.
#[expect(dead_code, reason = "nothing is shown")]
pub(crate) trait Panels<S> {
    /// Takes the next sample.
    fn take(&mut self, sample: S);

    /// The screen after the samples so far.
    fn screen(&self) -> Screen;
}

/// A view. No value of this type exists, as this build has no live views.
pub(crate) struct Live<S> {
    none: Infallible,
    samples: PhantomData<S>,
}

/// Refuses the view.
///
/// # Errors
///
/// Always.
pub(crate) fn check() -> Result<(), Failure> {
    let lacks = "this build of windlass has no live views (Cargo's feature live)";
    Err(Failure::Input(lacks.to_owned()))
}

/// Refuses the view.
///
/// # Errors
///
/// Always.
#[cfg(all(target_os = "linux", any(feature = "ecn-proxy", feature = "kernel-cc")))]
pub(crate) fn watch<S>(
    _: impl FnMut() -> Result<S, Failure>,
    _: impl Panels<S>,
) -> Result<(), Failure> {
    check()
}

impl<S> Live<S> {
    /// Refuses the view.
    ///
    /// # Errors
    ///
    /// Always.
    pub(crate) fn start(_: impl Panels<S>) -> Result<Live<S>, Failure> {
        check()?;
        unreachable!("check() refuses every view")
    }

    pub(crate) fn show(&self, _: S) {
        match self.none {}
    }

    pub(crate) fn stay(self) {
        match self.none {}
    }
}

/// As of a view that is there, which gives the terminal back.
impl<S> Drop for Live<S> {
    fn drop(&mut self) {
        match self.none {}
    }
}

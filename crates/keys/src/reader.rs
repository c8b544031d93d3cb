//! Reads whole documents: parses the text, applies the overrides, decodes the keys, and locates the
//! problems.

use crate::decode::Context;
use crate::overrides;
use crate::problem::Problems;
use crate::tree::{self, Node};
use std::path::{Path, PathBuf};

/// Reads a document, and names the location of each problem in it.
#[derive(Clone, Debug)]
pub struct Reader<'a, R> {
    origin: &'a str,
    directory: PathBuf,
    overrides: &'a [String],
    registry: R,
}

impl<'a, R> Reader<'a, R> {
    /// A reader of the document that messages call `origin`, usually its path: relative paths in the
    /// document begin in its directory. The document may name the kinds of `registry`.
    pub fn new(origin: &'a str, registry: R) -> Reader<'a, R> {
        let directory = Path::new(origin).parent().unwrap_or(Path::new("")).to_owned();
        Reader { origin, directory, overrides: &[], registry }
    }

    /// The same with relative paths that begin in `directory`.
    #[must_use]
    pub fn in_directory(self, directory: &Path) -> Reader<'a, R> {
        Reader { directory: directory.to_owned(), ..self }
    }

    /// The same with arguments `key=value` that replace values of the document.
    #[must_use]
    pub fn with_overrides(self, overrides: &'a [String]) -> Reader<'a, R> {
        Reader { overrides, ..self }
    }

    /// Parses TOML, and reads its root with `read`, which reports problems to the context.
    ///
    /// # Errors
    ///
    /// All problems of the text and the overrides.
    pub fn toml<T>(
        self,
        text: &str,
        read: impl FnOnce(&mut Node, &mut Context<R>) -> Option<T>,
    ) -> Result<T, Problems> {
        let (root, diagnostics) = tree::parse_toml(text);
        if !diagnostics.is_empty() {
            return Err(Problems::new(self.origin, Some(text), self.overrides, diagnostics));
        }
        self.root(root, Some(text), read)
    }

    /// [`Reader::toml`] for a JSON value, which has no line numbers.
    ///
    /// # Errors
    ///
    /// All problems of the value and the overrides.
    pub fn json<T>(
        self,
        value: &serde_json::Value,
        read: impl FnOnce(&mut Node, &mut Context<R>) -> Option<T>,
    ) -> Result<T, Problems> {
        self.root(tree::from_json(value), None, read)
    }

    fn root<T>(
        self,
        mut root: Node,
        text: Option<&str>,
        read: impl FnOnce(&mut Node, &mut Context<R>) -> Option<T>,
    ) -> Result<T, Problems> {
        let mut context = Context::new(self.registry, self.directory);
        overrides::apply(&mut root, self.overrides, &mut context);
        match read(&mut root, &mut context) {
            Some(found) if !context.has_problems() => Ok(found),
            _ => {
                let diagnostics = context.into_diagnostics();
                Err(Problems::new(self.origin, text, self.overrides, diagnostics))
            }
        }
    }
}

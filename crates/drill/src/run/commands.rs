//! Shell commands of a script.

use super::outcome::Side;
use super::runner::{Runner, Stop, diverged, plain};
use crate::script::Commands;
use crate::shell::{self, Command};

impl Runner<'_> {
    pub(super) fn commands(&mut self, commands: &Commands) -> Result<(), Stop> {
        let mut status = Ok(());
        for command in shell::commands(&commands.text) {
            // As in a shell, the last command says whether all went well.
            status = Ok(());
            match command {
                // The kernel's own script goes on where a kernel lacks one of the usual settings, and so does this.
                Command::Set { name, value, optional: true } => drop(self.host.set(&name, &value)),
                Command::Set { name, value, optional: false } => self.host.set(&name, &value)?,
                Command::Run(text) => status = self.shell(commands, &text)?,
            }
        }
        status?;
        if self.before.is_some() {
            let at = self.now();
            self.enter(at, Side::Program, format!("`{}`", commands.text.trim()));
        }
        Ok(())
    }

    /// Runs commands; the inner result says whether they succeeded.
    fn shell(&mut self, commands: &Commands, text: &str) -> Result<Result<(), Stop>, Stop> {
        Ok(match self.host.shell(text)? {
            0 => Ok(()),
            status => Err(diverged(
                commands.position,
                "a command failed",
                vec![plain(format!("`{text}` with exit status 0"))],
                vec![plain(format!("exit status {status}"))],
            )),
        })
    }
}

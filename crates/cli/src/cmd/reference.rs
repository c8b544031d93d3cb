//! Completions and man pages, derived from the definition of the arguments.

use crate::args::Cli;
use crate::failure::Failure;
use crate::stdout;
use clap::CommandFactory;
use clap_complete::Shell;

/// Prints a shell's completion script.
pub(crate) fn completions(shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "windlass", &mut script);
    stdout::line(String::from_utf8_lossy(&script).trim_end())
}

/// Prints the man page of a command, given by its words (`sim run`); without any, of the whole.
pub(crate) fn man(words: &[String]) -> Result<(), Failure> {
    let mut command = Cli::command();
    command.build();
    for word in words {
        let found = command.find_subcommand(word).cloned();
        let unknown = || Failure::Input(format!("windlass has no command {:?}", words.join(" ")));
        command = found.ok_or_else(unknown)?;
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .render(&mut page)
        .map_err(|error| Failure::io("man page", &error))?;
    stdout::line(String::from_utf8_lossy(&page).trim_end())
}

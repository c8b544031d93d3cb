//! Completions and man pages, derived from the definition of the arguments.

use crate::args::Cli;
use crate::failure::Failure;
use crate::stdout;
use clap::CommandFactory;
use clap_complete::Shell;
use std::fs;
use std::path::Path;
use windlass_base::suggest::did_you_mean;

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
        let unknown = || {
            let near = did_you_mean(word, command.get_subcommands().map(|known| known.get_name()));
            Failure::Input(format!("windlass has no command {:?}{near}", words.join(" ")))
        };
        command = found.ok_or_else(unknown)?;
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .render(&mut page)
        .map_err(|error| Failure::io("man page", &error))?;
    stdout::line(String::from_utf8_lossy(&page).trim_end())
}

/// Writes the man page of each command into a folder: `windlass-sim-run.1` and so on.
pub(crate) fn man_pages(folder: &Path) -> Result<(), Failure> {
    let written =
        fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(Cli::command(), folder));
    written.map_err(|error| Failure::io(folder.display(), &error))
}

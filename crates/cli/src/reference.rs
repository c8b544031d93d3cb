//! Completions and man pages, derived from the definition of the arguments.

use crate::args::Cli;
use crate::failure::Failure;
use crate::output_file::OutputFile;
use crate::stdout;
use clap::{Arg, Command, CommandFactory};
use clap_complete::Shell;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use windlass_base::suggest::did_you_mean;

/// The name that the values of options have which name a network interface.
const INTERFACE: &str = "INTERFACE";
/// Stands in generated scripts where the shell lists the interfaces.
const INTERFACES: &str = "WINDLASS_INTERFACES";

/// Prints a shell's completion script.
pub(crate) fn completions(shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    let mut command = with_interfaces(Cli::command());
    clap_complete::generate(shell, &mut command, "windlass", &mut script);
    let script = listing_interfaces(shell, &String::from_utf8_lossy(&script));
    stdout::line(script.trim_end())
}

/// Gives each option that names an interface one placeholder as its value. `ValueHint` has none for
/// interfaces.
fn with_interfaces(command: Command) -> Command {
    let named = |arg: Arg| match arg.get_value_names() {
        Some([name]) if name == INTERFACE => arg.value_parser([INTERFACES]),
        _ => arg,
    };
    command.mut_args(named).mut_subcommands(with_interfaces)
}

/// The script with the shell's own list of interfaces, as they are when a user completes. Shells without
/// one complete no name.
fn listing_interfaces(shell: Shell, script: &str) -> String {
    match shell {
        Shell::Bash => script.replace(INTERFACES, "$(ls /sys/class/net 2>/dev/null)"),
        Shell::Zsh => script.replace(&format!("({INTERFACES})"), "_net_interfaces"),
        Shell::Fish => script.replace(&format!("{INTERFACES}\\t''"), "(__fish_print_interfaces)"),
        _ => script.replace(INTERFACES, ""),
    }
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

/// Writes the man page of each command into a folder: `windlass-sim-run.1` and so on. All of them, or
/// none.
pub(crate) fn man_pages(folder: &Path) -> Result<(), Failure> {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    let write = || -> io::Result<()> {
        fs::create_dir_all(folder)?;
        let mut pages = Vec::new();
        write_pages(command, folder, &mut pages)?;
        pages.into_iter().try_for_each(OutputFile::finish)
    };
    write().map_err(|error| Failure::io(folder.display(), &error))
}

fn write_pages(command: Command, folder: &Path, pages: &mut Vec<OutputFile>) -> io::Result<()> {
    for below in command.get_subcommands().filter(|one| !one.is_hide_set()) {
        write_pages(below.clone(), folder, pages)?;
    }
    let page = clap_mangen::Man::new(command);
    let mut file = OutputFile::replace(&folder.join(page.get_filename()))?;
    page.render(&mut file)?;
    // Before any page has its name: the last one may not fit.
    file.flush()?;
    pages.push(file);
    Ok(())
}

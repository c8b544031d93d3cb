//! Runs scripts against the running kernel, as root: `kernel [--ip VERSION] [--verbose] SCRIPT...`. For each it prints the
//! verdict and, on one line, where the kernel did something else; with `--verbose` all that happened.

use std::fs;
use std::io;
use std::path::Path;
use windlass_drill::{Choice, Divergence, Kernel, Line, Plan, Subject, Verdict, run};

fn main() -> io::Result<()> {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let mut choice = Choice::default();
    if let Some(at) = words.iter().position(|word| word == "--ip") {
        let version = words.drain(at..(at + 2).min(words.len())).nth(1).unwrap_or_default();
        choice.ip_version = version.parse().map_err(io::Error::other)?;
    }
    let before = words.len();
    words.retain(|word| word != "--verbose");
    let is_verbose = words.len() < before;
    let kernel = Kernel::new(Path::new("."))?;
    println!("{}", kernel.name());
    for path in &words {
        let path = Path::new(path);
        let name = path.file_stem().unwrap_or_default().display();
        match Plan::new(&fs::read_to_string(path)?, &choice) {
            Ok(plan) => {
                let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
                judge(
                    &name.to_string(),
                    &plan,
                    &kernel.in_folder(folder.unwrap_or(Path::new("."))),
                    is_verbose,
                );
            }
            Err(error) => println!("{name}: no script: {error}"),
        }
    }
    Ok(())
}

fn judge(name: &str, plan: &Plan, kernel: &Kernel, is_verbose: bool) {
    let run = run(plan, kernel);
    let why = match &run.verdict {
        Verdict::Passed => String::new(),
        Verdict::Skipped(reason) => reason.clone(),
        Verdict::Failed(divergence) => in_a_line(divergence),
    };
    println!("{name}: {} {why}", run.verdict.name());
    if is_verbose {
        for entry in run.entries.iter().chain(&run.left) {
            println!("    {} {}", entry.at, entry.text);
        }
    }
}

fn in_a_line(divergence: &Divergence) -> String {
    let text = |lines: &[Line]| {
        let lines: Vec<_> = lines.iter().map(|line| format!("{} {}", line.at, line.text)).collect();
        lines.join("; ").replace('\n', " ")
    };
    let Divergence { position, summary, expected, actual } = divergence;
    format!("line {}: {summary}: expected {}, got {}", position.line, text(expected), text(actual))
}

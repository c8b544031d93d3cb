//! The shell commands of a script: those that set variables of the host are read here, so that every subject has them;
//! the others are for the subject's own shell.

mod defaults;
mod words;

use words::{Line, lines};

/// The two kinds of commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// Set a variable.
    Set {
        /// Its name, as `net.ipv4.tcp_ecn`.
        name: String,
        /// Its value.
        value: String,
        /// A host that lacks it is as good.
        optional: bool,
    },
    /// Run this.
    Run(String),
}

/// Takes the commands of a script apart. Lines for the shell stay together.
pub(crate) fn commands(text: &str) -> Vec<Command> {
    let mut commands: Vec<Command> = Vec::new();
    for next in lines(text).into_iter().flat_map(command) {
        match (commands.last_mut(), next) {
            (Some(Command::Run(before)), Command::Run(line)) => *before += &format!("\n{line}"),
            (_, next) => commands.push(next),
        }
    }
    commands
}

fn command(line: Line) -> Vec<Command> {
    let Some((program, arguments)) = line.words.as_deref().and_then(<[String]>::split_first) else {
        return vec![Command::Run(line.text)];
    };
    let known = match program.rsplit('/').next().unwrap_or(program) {
        "defaults.sh" if arguments.is_empty() => Some(defaults::commands()),
        "sysctl" | "set_sysctls.py" => assignments(arguments),
        // set_sysctls.py writes it to undo its settings. A host lives for one script.
        name if name.starts_with("sysctl_restore_") => Some(Vec::new()),
        _ => None,
    };
    known.unwrap_or_else(|| vec![Command::Run(line.text)])
}

/// `-q name=value ...`, where a name may be a path below /proc/sys; `None` if there is anything else.
fn assignments(arguments: &[String]) -> Option<Vec<Command>> {
    // `-e`: an unknown variable is no failure.
    let optional = arguments.iter().any(|word| word == "-e");
    let pairs =
        arguments.iter().filter(|word| !["-q", "-e", "-w", "-qw", "-wq"].contains(&word.as_str()));
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=')?;
            let name = name.strip_prefix("/proc/sys/").unwrap_or(name).replace('/', ".");
            let is_name = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
            let known = !name.is_empty() && name.chars().all(is_name);
            known.then(|| Command::Set { name, value: value.to_owned(), optional })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(name: &str, value: &str) -> Command {
        Command::Set { name: name.to_owned(), value: value.to_owned(), optional: false }
    }

    #[test]
    fn settings_are_read_in_every_form() {
        let text = "sysctl -q net.ipv4.tcp_ecn=3  # on\n\
                    sysctl -q net.ipv4.tcp_rmem=\"4096 131072 $((32*1024*1024))\"\n\
                    ./set_sysctls.py /proc/sys/net/ipv4/tcp_timestamps=0 \\\n /proc/sys/net/ipv4/tcp_min_tso_segs=10\n\
                    sysctl -q net/ipv4/tcp_pacing_ss_ratio=200; /tmp/sysctl_restore_${PPID}.sh";
        let expected = [
            set("net.ipv4.tcp_ecn", "3"),
            set("net.ipv4.tcp_rmem", "4096 131072 33554432"),
            set("net.ipv4.tcp_timestamps", "0"),
            set("net.ipv4.tcp_min_tso_segs", "10"),
            set("net.ipv4.tcp_pacing_ss_ratio", "200"),
        ];
        assert_eq!(commands(text), expected);
    }

    #[test]
    fn other_commands_are_for_the_shell_as_they_are() {
        let text = "nstat | grep TcpExt | grep -q \" 3 \"\nsysctl -a\ntc qdisc delete dev tun0 root 2>/dev/null ; true";
        let expected = "nstat | grep TcpExt | grep -q \" 3 \"\nsysctl -a\n\
                        tc qdisc delete dev tun0 root 2>/dev/null\ntrue";
        assert_eq!(commands(text), [Command::Run(expected.to_owned())]);
    }

    #[test]
    fn the_usual_settings_are_a_table() {
        let usual = commands("./defaults.sh");
        let sack = Command::Set {
            name: "net.ipv4.tcp_sack".to_owned(),
            value: "1".to_owned(),
            optional: true,
        };
        assert!(usual.contains(&sack) && usual.len() > 20, "{usual:?}");
    }
}

//! The counters of a namespace, which has one connection: theirs are the connection's.

use std::fs::File;
use std::io::{self, Read, Seek};

/// `/proc/net/netstat` of the namespace in which it was opened.
#[derive(Debug)]
pub(super) struct Counters(File);

impl Counters {
    /// Of the calling thread's namespace.
    ///
    /// # Errors
    ///
    /// There is no `/proc`.
    pub(super) fn open() -> io::Result<Counters> {
        File::open("/proc/thread-self/net/netstat").map(Counters)
    }

    /// The sum of some counters of TCP.
    pub(super) fn sum(&self, names: &[&str]) -> Option<f64> {
        let mut file = &self.0;
        let mut text = String::new();
        file.rewind().ok()?;
        file.read_to_string(&mut text).ok()?;
        sum(&text, names)
    }
}

/// A line of names and a line of values have one beginning.
fn sum(text: &str, names: &[&str]) -> Option<f64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("TcpExt: "));
    let (heads, values) = (lines.next()?, lines.next()?);
    let of =
        |(name, value): (&str, &str)| names.contains(&name).then(|| value.parse::<f64>().ok())?;
    Some(heads.split(' ').zip(values.split(' ')).filter_map(of).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_stand_below_their_names() {
        let text = "TcpExt: TCPTimeouts TCPLossUndo TCPFullUndo\nTcpExt: 3 1 2\n\
                    IpExt: InCEPkts\nIpExt: 9\n";
        assert_eq!(sum(text, &["TCPTimeouts"]), Some(3.0));
        assert_eq!(sum(text, &["TCPLossUndo", "TCPFullUndo"]), Some(3.0));
        assert_eq!(sum("IpExt: InCEPkts\nIpExt: 9\n", &["InCEPkts"]), None);
    }
}

//! The two tables of a survey. A kill at any moment loses no completed host: the survey writes the rows
//! of a host's runs first and the host's own row last, each with its line feed in one write. A host with
//! a complete row is done; recovery removes all other rows.

use super::rows::{HostRow, RunRow};
use serde::Serialize;
use std::collections::BTreeSet;

/// The usable part of an interrupted survey.
#[derive(Clone, Debug, Default)]
pub struct Recovered {
    /// The hosts that are done.
    pub hosts: Vec<HostRow>,
    /// Length of the valid part of `hosts.csv`, in bytes.
    pub hosts_len: usize,
    /// Length of the valid part of `runs.csv`, in bytes.
    pub runs_len: usize,
}

/// Reads the tables of an interrupted survey, which may end in a partial row.
///
/// # Errors
///
/// The tables are not a survey's, or were changed; the error names the place.
pub fn recover(hosts_csv: &[u8], runs_csv: &[u8]) -> Result<Recovered, String> {
    let hosts_whole = whole(hosts_csv);
    let hosts = match hosts_whole {
        0 => Vec::new(),
        len => read_hosts(&hosts_csv[..len])?,
    };
    let done: BTreeSet<&str> = hosts.iter().map(|row| row.host.as_str()).collect();
    let runs_len = runs_of(&done, &runs_csv[..whole(runs_csv)])?;
    Ok(Recovered { hosts_len: hosts_whole, runs_len, hosts })
}

/// The rows up to the last line feed.
fn whole(csv: &[u8]) -> usize {
    csv.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1)
}

fn read_hosts(csv: &[u8]) -> Result<Vec<HostRow>, String> {
    let wrong = |error: csv::Error| format!("hosts.csv: {error}");
    let mut reader = csv::Reader::from_reader(csv);
    if *reader.headers().map_err(wrong)? != columns(&header::<HostRow>())? {
        return Err("hosts.csv: not the columns of a survey of this version".to_owned());
    }
    reader.deserialize().collect::<Result<_, _>>().map_err(wrong)
}

/// The length of the rows of hosts that are done.
fn runs_of(done: &BTreeSet<&str>, csv: &[u8]) -> Result<usize, String> {
    let wrong = |error: csv::Error| format!("runs.csv: {error}");
    if csv.is_empty() {
        return if done.is_empty() { Ok(0) } else { Err("runs.csv: nothing in it".to_owned()) };
    }
    let mut reader = csv::Reader::from_reader(csv);
    if *reader.headers().map_err(wrong)? != columns(&header::<RunRow>())? {
        return Err("runs.csv: not the columns of a survey of this version".to_owned());
    }
    let mut record = csv::StringRecord::new();
    let mut len = reader.position().byte();
    while reader.read_record(&mut record).map_err(wrong)? {
        if !done.contains(record.get(0).unwrap_or_default()) {
            break;
        }
        len = reader.position().byte();
    }
    Ok(usize::try_from(len).unwrap_or(csv.len()))
}

fn columns(line: &[u8]) -> Result<csv::StringRecord, String> {
    let mut reader = csv::Reader::from_reader(line);
    reader.headers().cloned().map_err(|error| error.to_string())
}

/// The line of the columns, with its line feed.
pub fn header<T: Serialize + Default>() -> Vec<u8> {
    let both = lines(&[T::default()], true);
    let end = both.iter().position(|byte| *byte == b'\n').map_or(both.len(), |at| at + 1);
    both[..end].to_vec()
}

/// Rows as they are appended, to be written at once.
pub fn rows<T: Serialize>(rows: &[T]) -> Vec<u8> {
    lines(rows, false)
}

fn lines<T: Serialize>(rows: &[T], header: bool) -> Vec<u8> {
    let mut writer = csv::WriterBuilder::new().has_headers(header).from_writer(Vec::new());
    for row in rows {
        // Flat rows into memory: there is nothing to fail.
        if writer.serialize(row).is_err() {
            break;
        }
    }
    writer.into_inner().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn host_row(host: &str, server: &str) -> HostRow {
        let server = server.to_owned();
        HostRow { host: host.to_owned(), server, rtt_ms: Some(1.5), ..HostRow::default() }
    }

    fn run_rows(host: &str, count: u32) -> Vec<RunRow> {
        let row = |run| RunRow { host: host.to_owned(), run, grown: Some(6), ..RunRow::default() };
        (1..=count).map(row).collect()
    }

    #[test]
    fn rows_come_back_as_they_were() {
        let row = host_row("http://a.example/x,y", "\"quoted\", and more");
        let csv = [header::<HostRow>(), rows(std::slice::from_ref(&row))].concat();
        let runs = [header::<RunRow>(), rows(&run_rows("http://a.example/x,y", 2))].concat();
        let back = recover(&csv, &runs).expect("whole");
        assert_eq!((back.hosts, back.hosts_len, back.runs_len), (vec![row], csv.len(), runs.len()));
    }

    #[test]
    fn nothing_at_all_is_a_survey_that_has_not_begun() {
        for (hosts, runs) in [(&b""[..], &b""[..]), (b"ho", b""), (b"", b"host,r")] {
            let back = recover(hosts, runs).expect("a torn beginning");
            assert_eq!((back.hosts_len, back.runs_len, back.hosts.len()), (0, 0, 0));
        }
    }

    #[test]
    fn other_tables_are_refused() {
        let error = recover(b"a,b\n1,2\n", b"").expect_err("another table");
        assert!(error.starts_with("hosts.csv: not the columns"), "{error}");
        let header = header::<HostRow>();
        let damaged = [&header[..], b"a,b\n", &rows(&[host_row("a", "b")])].concat();
        assert!(recover(&damaged, b"").is_err());
    }

    proptest! {
        /// Writes go through in order, the last of them perhaps in part.
        #[test]
        fn a_kill_at_any_moment_loses_no_host_that_was_done(
            servers in prop::collection::vec("[a-z,\" ]{0,12}", 0..6), cut in any::<prop::sample::Index>()
        ) {
            let mut writes = vec![(0, header::<HostRow>()), (1, header::<RunRow>())];
            for (index, server) in servers.iter().enumerate() {
                let host = format!("host,{index}");
                writes.push((1, rows(&run_rows(&host, index as u32))));
                writes.push((0, rows(&[host_row(&host, server)])));
            }
            let total: usize = writes.iter().map(|(_, bytes)| bytes.len()).sum();
            let mut left = cut.index(total + 1);
            let mut files = [Vec::new(), Vec::new()];
            let mut done = 0;
            for (index, (file, bytes)) in writes.iter().enumerate() {
                let now = left.min(bytes.len());
                files[*file].extend_from_slice(&bytes[..now]);
                left -= now;
                done += usize::from(*file == 0 && index > 1 && now == bytes.len());
            }
            let [hosts, runs] = &files;
            let back = recover(hosts, runs).expect("a survey");
            prop_assert_eq!(back.hosts.len(), done);
            let kept = recover(&hosts[..back.hosts_len], &runs[..back.runs_len]).expect("repaired");
            prop_assert_eq!((kept.hosts_len, kept.runs_len), (back.hosts_len, back.runs_len));
            let lines = runs[..back.runs_len].iter().filter(|byte| **byte == b'\n').count();
            let expected: usize = (0..done).sum();
            prop_assert_eq!(lines.saturating_sub(1), expected);
        }

        #[test]
        fn any_bytes_are_a_survey_or_an_error(
            hosts in prop::collection::vec(any::<u8>(), 0..200), runs in "\\PC{0,80}", own in any::<bool>()
        ) {
            let hosts = if own { [header::<HostRow>(), hosts].concat() } else { hosts };
            let _ = recover(&hosts, runs.as_bytes());
        }
    }
}

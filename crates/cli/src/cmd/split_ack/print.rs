//! The tables of connections and of rounds.

use super::compare::{Pair, ratio};
use super::measured::Measured;
use crate::stdout;
use windlass_split_ack::{Connection, ROUNDS_MAX, Round, Transfer};

const HEADER: [&str; 9] = [
    "connection",
    "ACKs split",
    "ACKs sent",
    "left: SACK",
    "left: data",
    "data packets in",
    "late",
    "bytes",
    "MSS seen",
];

/// The tables of one run as text.
pub(super) fn text(run: &Measured) -> String {
    let mut parts = vec![table(run)];
    parts.extend(run.connections.iter().filter_map(round_table));
    parts.join("\n\n")
}

/// The tables of a run and its baseline as text.
pub(super) fn comparison(
    baseline: &Measured,
    run: &Measured,
    split: u32,
    pairs: &[Pair],
) -> String {
    let mut parts = vec![
        format!("without splitting:\n{}", table(baseline)),
        format!("with each of the first ACKs split in {split}:\n{}", table(run)),
    ];
    parts.extend(pairs.iter().filter_map(|pair| {
        side_by_side(
            &baseline.connections[pair.baseline],
            &run.connections[pair.split],
            split,
            pair,
        )
    }));
    let alone = |(i, connection): (usize, &Connection), paired: fn(&Pair) -> usize, when: &str| {
        let alone = pairs.iter().all(|pair| paired(pair) != i);
        alone.then(|| Some(format!("only {when}: {}", round_table(connection)?))).flatten()
    };
    let before = baseline.connections.iter().enumerate();
    parts.extend(before.filter_map(|one| alone(one, |pair| pair.baseline, "without splitting")));
    let after = run.connections.iter().enumerate();
    parts.extend(after.filter_map(|one| alone(one, |pair| pair.split, "with split ACKs")));
    parts.join("\n\n")
}

fn table(run: &Measured) -> String {
    if run.connections.is_empty() {
        return "split-ack: the command had no TCP connection of its own".to_owned();
    }
    let mut text = stdout::table(&HEADER, run.connections.iter().map(row));
    if run.packets_missed > 0 {
        let missed = run.packets_missed;
        text += &format!("\n{missed} packets of further connections were left alone: no room");
    }
    text
}

fn row(connection: &Connection) -> Vec<String> {
    let numbers = [
        connection.acks_split,
        connection.acks_sent,
        connection.acks_with_sack,
        connection.acks_with_data,
        connection.data_segments,
        connection.late_segments,
        connection.acked_bytes,
        connection.mss_seen.into(),
    ];
    let numbers = numbers.map(|number| number.to_string());
    std::iter::once(ends(connection)).chain(numbers).collect()
}

fn ends(connection: &Connection) -> String {
    let Connection { local, peer, .. } = connection;
    format!("{local} <- {peer}")
}

/// The rounds of a connection, if they were kept.
fn round_table(connection: &Connection) -> Option<String> {
    let transfer = connection.transfer.as_ref()?;
    if transfer.rounds.is_empty() {
        return Some(format!("{}: no data", ends(connection)));
    }
    let mut text = format!(
        "{}: {} in {}, RTT {}\n",
        ends(connection),
        rate(transfer),
        duration(transfer),
        rtt(transfer)
    );
    let row = |(label, round): (String, &Round)| {
        let numbers = [u64::from(round.acks), u64::from(round.packets), round.bytes];
        let at = format!("{:.1}", round.at_ms);
        [label, at].into_iter().chain(numbers.map(|number| number.to_string())).collect()
    };
    let header = ["round", "from ms", "ACKs", "packets", "bytes"];
    text += &stdout::table(&header, rounds(transfer).into_iter().map(row));
    Some(text + &later(&[transfer]))
}

/// The rounds with their numbers, the later ones as one.
fn rounds(transfer: &Transfer) -> Vec<(String, &Round)> {
    let kept = transfer.rounds.iter().enumerate();
    let kept = kept.map(|(i, round)| ((i + 1).to_string(), round));
    let later = transfer.later_rounds.iter();
    kept.chain(later.map(|later| (format!("from {}", ROUNDS_MAX + 1), &later.sum))).collect()
}

/// A line on rounds that are not listed; empty without them.
fn later(transfers: &[&Transfer]) -> String {
    let count =
        |transfer: &&Transfer| transfer.later_rounds.as_ref().map_or(0, |later| later.count);
    let counts: Vec<u32> = transfers.iter().map(count).collect();
    if counts.iter().all(|count| *count == 0) {
        return String::new();
    }
    let counts: Vec<String> = counts.iter().map(u32::to_string).collect();
    let counts = counts.join(" and ");
    format!("\nThe last line is the sum of all later rounds: {counts} of them.")
}

/// A connection of the baseline and one of the measured run.
fn side_by_side(
    baseline: &Connection,
    run: &Connection,
    split: u32,
    pair: &Pair,
) -> Option<String> {
    let both = [baseline.transfer.as_ref()?, run.transfer.as_ref()?];
    let (one, many) = ("split 1".to_owned(), format!("split {split}"));
    let named = |what: &str| format!("{what}: {one}");
    let header = [
        "round".to_owned(),
        named("ACKs"),
        many.clone(),
        named("packets"),
        many.clone(),
        "ratio".to_owned(),
        named("bytes"),
        many.clone(),
    ];
    let header = header.each_ref().map(String::as_str);
    let mut text = format!("{}, before {}\n", ends(run), ends(baseline));
    text += &stdout::table(&header, round_rows(both).into_iter());
    text += &later(&both);
    let figures = [
        ("duration", both.map(duration), pair.duration_ratio),
        ("rate", both.map(rate), pair.rate_ratio),
        ("smallest RTT", both.map(rtt), None),
    ];
    let rows = figures.into_iter().map(|(name, [before, after], ratio)| {
        vec![name.to_owned(), before, after, ratio.map_or_else(String::new, two_decimals)]
    });
    text += "\n\n";
    text += &stdout::table(&["", &one, &many, "ratio"], rows);
    Some(text)
}

fn round_rows(both: [&Transfer; 2]) -> Vec<Vec<String>> {
    let [before, after] = both.map(rounds);
    let label = |i: usize| before.get(i).or(after.get(i)).map(|(label, _)| label.clone());
    let row = |i: usize| {
        let [before, after] = [&before, &after].map(|rounds| rounds.get(i).map(|(_, round)| round));
        let cell = |round: Option<&&Round>, figure: fn(&Round) -> u64| {
            round.map_or_else(String::new, |round| figure(round).to_string())
        };
        let pair = |figure: fn(&Round) -> u64| [cell(before, figure), cell(after, figure)];
        let packets = before
            .zip(after)
            .and_then(|(before, after)| ratio(after.packets.into(), before.packets.into()));
        let packets = packets.map_or_else(String::new, two_decimals);
        let mut row = vec![label(i).unwrap_or_default()];
        row.extend(pair(|round| round.acks.into()));
        row.extend(pair(|round| round.packets.into()));
        row.push(packets);
        row.extend(pair(|round| round.bytes));
        row
    };
    (0..before.len().max(after.len())).map(row).collect()
}

fn two_decimals(number: f64) -> String {
    format!("{number:.2}")
}

fn duration(transfer: &Transfer) -> String {
    transfer.duration_s.map_or_else(|| "no data".to_owned(), |seconds| format!("{seconds:.3} s"))
}

fn rate(transfer: &Transfer) -> String {
    let mbit = |bit_per_s: f64| format!("{:.2} Mbit/s", bit_per_s / 1e6);
    transfer.bit_per_s.map_or_else(|| "no data".to_owned(), mbit)
}

fn rtt(transfer: &Transfer) -> String {
    transfer.rtt_ms.map_or_else(|| "unknown".to_owned(), |ms| format!("{ms:.2} ms"))
}

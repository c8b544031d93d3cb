//! The plan of a survey, for `--dry-run`.

use std::net::IpAddr;
use windlass_base::Span;
use windlass_base::address::parse_ip;
use windlass_probe::session::Runs;
use windlass_probe::survey::{Exclusions, Pace};
use windlass_probe::{Settings, Target};

/// The duration of a controller's trial, for the estimate of a dry run.
const TRIAL: Span = Span::from_secs(12);

/// Requests that may follow a page which is too small.
const SEARCH_REQUESTS: usize = 4;

/// The text of a dry run: hosts, pace and duration. Nothing has been sent yet.
pub(super) fn text(
    hosts: &[String],
    done: usize,
    settings: &Settings,
    pace: &Pace,
    exclusions: &Exclusions,
) -> String {
    let literal: Vec<IpAddr> = hosts.iter().filter_map(|host| address(host, settings)).collect();
    let excluded = literal.iter().filter(|address| exclusions.contains(**address)).count();
    let tests: Vec<String> = settings.tests.iter().map(|test| test.to_string()).collect();
    let left = hosts.len() - done.min(hosts.len());
    let identifies = settings.controllers.is_some();
    let of_tests =
        |rounds: u32| if identifies { 1 } else { settings.tests.len() * rounds as usize };
    let (rounds_min, rounds_text) = match settings.runs {
        Runs::UntilCertain { most } => (2.min(most), format!("2 to {most}")),
        Runs::Exactly(count) => (count, count.to_string()),
    };
    let run = if identifies { TRIAL } else { settings.timeout };
    // A scout, the search for a larger object, one that asks for ECN, and the measurements.
    let searches = if settings.find_object { SEARCH_REQUESTS } else { 0 };
    let before = 1 + searches + usize::from(settings.ecn);
    let connections = |rounds: u32| left.saturating_sub(excluded) * (before + of_tests(rounds));
    let a_host = (run + pace.pause) * of_tests(rounds_min) as u64;
    let by_rate = Span::from_secs_f64(connections(rounds_min) as f64 / pace.rate);
    let rounds = left.div_ceil(pace.under_way_max) as u64;
    let least = by_rate.max(a_host * rounds);
    let mut lines = vec![
        format!(
            "hosts: {} ({} of them names, to be resolved); done before: {done}; excluded by address: \
             {excluded}",
            hosts.len(),
            hosts.len() - literal.len(),
        ),
        format!("exclusions: {} networks", exclusions.len()),
        match identifies {
            true => "of each host: a trial of its congestion controller, or two".to_owned(),
            false => format!(
                "of each host: one page at a time, tests {}, {} runs each, {} segments acknowledged; \
                 {} s between connections",
                tests.join(","),
                rounds_text,
                settings.acks,
                pace.pause.as_secs_f64()
            ),
        },
    ];
    if settings.find_object {
        lines.push(format!("where a page is too small: up to {SEARCH_REQUESTS} requests more"));
    }
    if settings.ecn {
        lines.push(
            "before: a connection that asks for AccECN, and perhaps one for classic ECN".to_owned(),
        );
    }
    lines.extend([
        format!(
            "connections: some {}, at most {} a second, {} hosts under way at once",
            connections(settings.runs.most()),
            pace.rate,
            pace.under_way_max
        ),
        format!("it takes at least: {}", duration(least)),
        format!("User-Agent: {}", settings.user_agent),
        "nothing was sent".to_owned(),
    ]);
    lines.join("\n")
}

/// The address of a host that is named by one.
fn address(host: &str, settings: &Settings) -> Option<IpAddr> {
    let target = Target::parse_as(host, settings.scheme).ok()?;
    parse_ip(target.candidates.first()?.host_str()?.trim_matches(['[', ']'])).ok()
}

/// In the units that people use.
pub(super) fn duration(span: Span) -> String {
    let s = span.as_secs_f64().round() as u64;
    match (s / 3600, s / 60 % 60, s % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, minutes, s) => format!("{minutes} min {s} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

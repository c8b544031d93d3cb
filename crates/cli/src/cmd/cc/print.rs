//! The tables of `windlass cc`.

use crate::stdout;
use windlass_kernel_cc::{Flow, Parameters, Status};

/// The controllers that are loaded.
pub(super) fn status(all: &[Status]) -> String {
    let header =
        ["name", "alpha-wnd", "alpha-slp", "beta", "connections", "loaded for", "link", "programs"];
    stdout::table(&header, all.iter().map(status_row))
}

fn status_row(status: &Status) -> Vec<String> {
    let Parameters { alpha_wnd, alpha_slp, beta } = status.parameters;
    let programs: Vec<String> = status.program_ids.iter().map(u32::to_string).collect();
    vec![
        status.name.clone(),
        alpha_wnd.to_string(),
        alpha_slp.to_string(),
        beta.to_string(),
        status.connections.to_string(),
        format!("{:.0} s", status.loaded_for_s),
        status.link_id.map_or("none".to_owned(), |id| id.to_string()),
        programs.join(" "),
    ]
}

/// The connections that use one.
pub(super) fn flows(all: &[Flow]) -> String {
    let header = [
        "netns",
        "local",
        "peer",
        "ecn",
        "cwnd",
        "ssthresh",
        "srtt ms",
        "slope",
        "echoes",
        "mark cuts",
        "loss cuts",
        "timeouts",
    ];
    stdout::table(&header, all.iter().map(flow_row))
}

fn flow_row(flow: &Flow) -> Vec<String> {
    vec![
        flow.netns.to_string(),
        flow.local.to_string(),
        flow.peer.to_string(),
        if flow.ecn { "yes" } else { "no" }.to_owned(),
        flow.cwnd.to_string(),
        flow.ssthresh.map_or("-".to_owned(), |segments| segments.to_string()),
        format!("{:.3}", f64::from(flow.srtt_us) / 1000.0),
        format!("{:.4}", flow.slope),
        flow.echoes.to_string(),
        flow.mark_cuts.to_string(),
        flow.loss_cuts.to_string(),
        flow.timeouts.to_string(),
    ]
}

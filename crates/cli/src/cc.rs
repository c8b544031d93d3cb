//! `windlass cc`.

use crate::args::{Cc, CcLoad};
use crate::failure::Failure;
use crate::print;
use comfy_table::{CellAlignment, LineStyle, Table, TableStyle};
use serde_json::json;
use windlass_kernel_cc::{Error, Flow, Name, Parameters, Status, flows, load, status, unload};

/// Does what the arguments say.
pub(crate) fn main(command: Cc) -> Result<(), Failure> {
    match command {
        Cc::Load(args) => load_new_ecn(&args),
        Cc::Status { json } => print_status(json),
        Cc::Flows { name, json } => print_flows(&parse(&name)?, json),
        Cc::Unload { controller: _, name } => {
            let name = parse(&name)?;
            unload(&name).map_err(failure)?;
            print::line(&format!("{name} unloaded; connections that use it go on with it"))
        }
    }
}

fn failure(error: Error) -> Failure {
    match error {
        Error::BadName(_) | Error::BadParameter(_) => Failure::Input(error.to_string()),
        _ => Failure::Work(error.to_string()),
    }
}

fn parse(name: &str) -> Result<Name, Failure> {
    name.parse().map_err(failure)
}

fn load_new_ecn(args: &CcLoad) -> Result<(), Failure> {
    let name = parse(&args.name)?;
    let CcLoad { alpha_wnd, alpha_slp, beta, .. } = *args;
    let mounted = load(&name, &Parameters { alpha_wnd, alpha_slp, beta }).map_err(failure)?;
    if mounted {
        print::line("mounted the BPF file system at /sys/fs/bpf")?;
    }
    print::line(&format!(
        "{name} loaded: alpha-wnd {alpha_wnd}, alpha-slp {alpha_slp}, beta {beta}"
    ))
}

fn print_status(json: bool) -> Result<(), Failure> {
    let all = status().map_err(failure)?;
    if json {
        return print::line(&format!("{:#}", json!(all)));
    }
    if all.is_empty() {
        return print::line("nothing loaded");
    }
    let header =
        ["name", "alpha-wnd", "alpha-slp", "beta", "connections", "loaded for", "link", "programs"];
    print_table(&header, all.iter().map(status_row))
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

fn print_flows(name: &Name, json: bool) -> Result<(), Failure> {
    let all = flows(name).map_err(failure)?;
    if json {
        return print::line(&format!("{:#}", json!(all)));
    }
    if all.is_empty() {
        return print::line(&format!("no connection uses {name}"));
    }
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
    print_table(&header, all.iter().map(flow_row))
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

fn print_table(header: &[&str], rows: impl Iterator<Item = Vec<String>>) -> Result<(), Failure> {
    let line = LineStyle::none().fill('─').junction('─');
    let mut table = Table::new();
    table.load_style(TableStyle::new().header_separator(line)).set_header(header).add_rows(rows);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    print::line(&table.trim_fmt())
}

//! A web server made of smoltcp behind a TUN device, for tests of the probe:
//! `smoltcp_server DEVICE ADDRESS VERSION RTT_MS PAGE_BYTES`, with 0.12 or 0.14 for the version. The lab
//! builds and runs it. The server uses Reno and Nagle's algorithm.

#[path = "../tests/common/smoltcp.rs"]
mod smoltcp;

use std::env;
use std::net::IpAddr;
use std::process::ExitCode;
use windlass_base::Span;
use windlass_probe_serve::{Network, Server, page};

fn main() -> ExitCode {
    match serve(&env::args().skip(1).collect::<Vec<_>>()) {
        Ok(never) => match never {},
        Err(error) => {
            eprintln!("smoltcp_server: {error}");
            ExitCode::FAILURE
        }
    }
}

fn serve(arguments: &[String]) -> Result<std::convert::Infallible, Box<dyn std::error::Error>> {
    let [device, address, version, rtt_ms, page_bytes] = arguments else {
        return Err("DEVICE ADDRESS VERSION RTT_MS PAGE_BYTES".into());
    };
    let address: IpAddr = address.parse()?;
    let answer = page(page_bytes.parse()?);
    let server: Box<dyn Server> = match version.as_str() {
        "0.12" => {
            let reno = smoltcp::v0_12::CongestionControl::Reno;
            Box::new(smoltcp::v0_12::WebServer::new(address, reno, true, answer))
        }
        "0.14" => {
            let reno = smoltcp::v0_14::CongestionControl::Reno;
            Box::new(smoltcp::v0_14::WebServer::new(address, reno, true, answer))
        }
        other => return Err(format!("{other}: 0.12 or 0.14").into()),
    };
    let network =
        Network::with_servers(vec![(address, server)], Span::from_millis(rtt_ms.parse()?));
    Ok(windlass_probe_serve::serve(network, device, || println!("serving"), |_| {})?)
}

//! Runs a command whose TCP connections are made by this process, outside its namespace.
//!
//!     cargo run --example capture -- curl http://example.org/
//!     cargo run --example capture -- --nameserver 192.0.2.1:53 --report -- ssh host

use std::env;
use std::ffi::OsString;
use std::io;
use std::net::SocketAddr;
use std::process::ExitCode;
use windlass_capture::{Capture, DirectDialer, HostResolver, Signals, child_main};

struct Options {
    nameservers: Vec<SocketAddr>,
    mtu: Option<u16>,
    report: bool,
    command: Vec<OsString>,
}

fn main() -> ExitCode {
    if let Some(code) = child_main() {
        return code;
    }
    run(&options()).unwrap_or_else(|error| {
        eprintln!("error: capture: {error}");
        ExitCode::FAILURE
    })
}

fn run(options: &Options) -> io::Result<ExitCode> {
    let signals = Signals::block()?;
    let mut resolver = match &options.nameservers[..] {
        [] => HostResolver::new()?,
        servers => HostResolver::with_servers(servers.to_vec())?,
    };
    let mut capture = Capture::new(&options.command);
    if let Some(mtu) = options.mtu {
        capture = capture.mtu(mtu);
    }
    let outcome = capture.run(&signals, &mut DirectDialer, &mut resolver)?;
    if options.report {
        eprintln!("{outcome:?}");
    }
    Ok(ExitCode::from(outcome.exit_code))
}

fn options() -> Options {
    let mut options = Options { nameservers: vec![], mtu: None, report: false, command: vec![] };
    let mut args = env::args_os().skip(1);
    let number = |text: Option<OsString>| text.and_then(|text| text.into_string().ok());
    while let Some(arg) = args.next() {
        match arg.to_str() {
            Some("--nameserver") => {
                let address: Option<SocketAddr> =
                    number(args.next()).and_then(|text| text.parse().ok());
                options.nameservers.extend(address);
            }
            Some("--mtu") => options.mtu = number(args.next()).and_then(|text| text.parse().ok()),
            Some("--report") => options.report = true,
            Some("--") => options.command.extend(args.by_ref()),
            _ => {
                options.command.push(arg);
                options.command.extend(args.by_ref());
            }
        }
    }
    options
}

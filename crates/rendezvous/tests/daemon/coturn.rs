//! coturn's clients as independent users of the server. turnutils_stunclient is not among them: it
//! sends the shortest request once, and the answer to it would be longer.

use std::net::SocketAddr;
use std::process::{Command, Output, Stdio};

use windlass_testbed::{Background, Need, skip_unless};

use crate::relay::{credentials, peer_address};
use crate::running::{self, Running, relaying};

/// Messages that each client sends.
const MESSAGES: u32 = 20;

fn run(program: &str, arguments: &[&str]) -> String {
    let mut command = Command::new("timeout");
    let output: Output = command
        .arg("60")
        .arg(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .expect("timeout");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program}: {:?}\n{text}\n{errors}", output.status);
    text + &errors
}

#[test]
fn coturns_discovery_finds_no_nat() {
    if skip_unless(&[Need::Program("turnutils_natdiscovery")]) {
        return;
    }
    let port = running::free_pair_of_ports();
    let _running = Running::start(|options| {
        options.listen = vec![SocketAddr::new([127, 0, 0, 1].into(), port)];
        options.alternate = Some([127, 0, 0, 2].into());
    });
    let text =
        run("turnutils_natdiscovery", &["-m", "-f", "-P", "-p", &port.to_string(), "127.0.0.1"]);
    assert!(text.contains("NAT with Endpoint Independent Mapping!"), "{text}");
    assert!(text.contains("NAT with Endpoint Independent Filtering!"), "{text}");
}

#[test]
fn coturns_client_relays_over_every_transport() {
    let programs = ["turnutils_uclient", "turnutils_peer"].map(Need::Program);
    let Some(ip) = peer_address() else { return };
    if skip_unless(&programs) {
        return;
    }
    let running = Running::start(|options| {
        relaying(options, ip);
        options.certificate = Some(running::certificate());
    });
    let credentials = credentials(&running);
    let peer_port = running::free_pair_of_ports();
    let peer_text = peer_port.to_string();
    let mut peer = Command::new("turnutils_peer");
    peer.args(["-p", &peer_text, "-L", &ip.to_string()]);
    let _peer = Background::start(peer);
    let (plain, tls) = (running.addresses.udp[0].port(), running.addresses.tls[0].port());
    let count = MESSAGES.to_string();
    for (port, transport) in [(plain, &[][..]), (plain, &["-t"]), (tls, &["-t", "-S"])] {
        // With channels, and with indications.
        for how in [&[][..], &["-s"]] {
            let port = port.to_string();
            let mut arguments =
                vec!["-c", "-n", &count, "-m", "1", "-p", &port, "-r", &peer_text, "-X"];
            let ip = ip.to_string();
            arguments.extend(["-e", &ip, "-u", &credentials.username, "-w", &credentials.password]);
            arguments.extend(transport.iter().chain(how));
            arguments.push("127.0.0.1");
            let text = run("turnutils_uclient", &arguments);
            let lost = format!("tot_send_msgs={MESSAGES}, tot_recv_msgs={MESSAGES}");
            assert!(text.contains(&lost), "{transport:?} {how:?}\n{text}");
        }
    }
}

//! A namespace with servers, in which captures run.

use domain::base::iana::{Rcode, Rtype};
use domain::base::{Message, MessageBuilder};
use domain::rdata::{A, Aaaa};
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::thread;
use windlass_testbed::{Namespace, Need, skip, skip_unless, text};

/// The addresses of the namespace's servers.
pub(crate) const SERVER: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
pub(crate) const SERVER_V6: Ipv6Addr = Ipv6Addr::new(0xfd99, 0, 0, 0, 0, 0, 0, 7);
/// A name with both addresses, one with [`MANY`] of them, and one that does not exist.
pub(crate) const NAME: &str = "files.test";
pub(crate) const LONG_NAME: &str = "many.test";
pub(crate) const NO_NAME: &str = "none.test";
/// More addresses than fit into a datagram of DNS.
pub(crate) const MANY: u8 = 60;

pub(crate) struct Bed {
    pub(crate) namespace: Namespace,
}

/// The path of the example that `cargo test` has built. Prints a line and returns `None` if it was not
/// built, as when only this test was selected.
pub(crate) fn example() -> Option<PathBuf> {
    let own = std::env::current_exe().expect("a path");
    let path = own.ancestors().nth(2)?.join("examples").join("capture");
    if !path.exists() {
        skip("the example capture is not built (cargo build --examples)");
        return None;
    }
    Some(path)
}

/// True, after a line that says why, if a test cannot run.
pub(crate) fn skipped(programs: &[&str]) -> bool {
    let programs = programs.iter().map(|program| Need::Program(program));
    let needs: Vec<_> = [Need::Root, Need::Tun, Need::Program("ip"), Need::Program("nsenter")]
        .into_iter()
        .chain(programs)
        .collect();
    skip_unless(&needs) || example().is_none()
}

impl Bed {
    pub(crate) fn new() -> Bed {
        let namespace = Namespace::new("cap");
        namespace.ip(&format!("address add {SERVER}/32 dev lo"));
        namespace.ip(&format!("address add {SERVER_V6}/128 dev lo nodad"));
        Bed { namespace }
    }

    /// A listener at an address of the namespace.
    pub(crate) fn listen(&self, address: IpAddr) -> (TcpListener, SocketAddr) {
        let listener = self.namespace.inside(|| TcpListener::bind((address, 0)).expect("free"));
        let address = listener.local_addr().expect("bound");
        (listener, address)
    }

    /// A server that hands each connection to `serve`, on a thread of its own.
    pub(crate) fn serve(
        &self,
        address: IpAddr,
        serve: impl Fn(TcpStream) + Send + Sync + Clone + 'static,
    ) -> SocketAddr {
        let (listener, address) = self.listen(address);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let serve = serve.clone();
                thread::spawn(move || serve(stream));
            }
        });
        address
    }

    /// A capture with the command line that follows.
    pub(crate) fn capture(&self) -> Command {
        let mut command = self.namespace.command("env");
        // A shell cannot trap a signal that is ignored when it starts, as nohup ignores SIGHUP.
        command.arg("--default-signal=HUP");
        // The name servers of the machine are out of reach.
        command.arg(example().expect("built")).args(["--nameserver", &format!("{SERVER}:53")]);
        command.arg("--");
        command
    }

    /// Runs a shell script in a capture.
    pub(crate) fn shell(&self, script: &str) -> Output {
        self.capture().args(["sh", "-c", script]).output().expect("starts")
    }

    /// Runs a Python script in a capture, and returns what it printed.
    #[track_caller]
    pub(crate) fn python(&self, script: &str, arguments: &[&str]) -> String {
        let output = self.capture().args(["python3", "-c", script]).args(arguments).output();
        let output = output.expect("starts");
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    }

    /// Starts a name server at [`SERVER`].
    pub(crate) fn serve_names(&self) {
        let (udp, tcp) = self.namespace.inside(|| {
            let udp = UdpSocket::bind((SERVER, 53)).expect("free");
            (udp, TcpListener::bind((SERVER, 53)).expect("free"))
        });
        thread::spawn(move || {
            let mut query = [0; 512];
            while let Ok((len, from)) = udp.recv_from(&mut query) {
                let mut answer = answer(&query[..len]);
                if answer.len() > 512 {
                    // Header and question, and the TC bit.
                    answer = Message::from_octets(&answer[..]).map(cut).expect("a message");
                }
                let _ = udp.send_to(&answer, from);
            }
        });
        thread::spawn(move || {
            for mut stream in tcp.incoming().map_while(Result::ok) {
                let mut len = [0; 2];
                while stream.read_exact(&mut len).is_ok() {
                    let mut query = vec![0; usize::from(u16::from_be_bytes(len))];
                    stream.read_exact(&mut query).expect("a whole query");
                    let answer = answer(&query);
                    let len = (answer.len() as u16).to_be_bytes();
                    stream.write_all(&[&len, &answer[..]].concat()).expect("open");
                }
            }
        });
    }
}

/// The command, with its standard streams into pipes.
pub(crate) fn piped(mut command: Command) -> Command {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn cut(answer: Message<&[u8]>) -> Vec<u8> {
    let mut cut = MessageBuilder::new_vec().start_answer(&answer, Rcode::NOERROR).expect("room");
    cut.header_mut().set_tc(true);
    cut.finish()
}

fn answer(query: &[u8]) -> Vec<u8> {
    let query = Message::from_octets(query).expect("a message");
    let question = query.sole_question().expect("one question");
    let name = question.qname().to_string();
    let rcode = if name == NO_NAME { Rcode::NXDOMAIN } else { Rcode::NOERROR };
    let mut answer = MessageBuilder::new_vec().start_answer(&query, rcode).expect("room");
    answer.header_mut().set_ra(true);
    let addresses = match name.as_str() {
        NAME => vec![SERVER],
        LONG_NAME => (1..=MANY).map(|last| Ipv4Addr::new(10, 78, 0, last)).collect(),
        _ => vec![],
    };
    match question.qtype() {
        Rtype::A => {
            for address in addresses {
                answer.push((question.qname(), 60, A::new(address))).expect("room");
            }
        }
        Rtype::AAAA if name == NAME => {
            answer.push((question.qname(), 60, Aaaa::new(SERVER_V6))).expect("room");
        }
        _ => {}
    }
    answer.finish()
}

/// Bytes that look random.
pub(crate) fn pattern(len: usize) -> Vec<u8> {
    (0..len as u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) as u8).collect()
}

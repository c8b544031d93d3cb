//! The driver in network namespaces: against a server behind a TUN device, and against this machine's kernel.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tun_rs::{DeviceBuilder, SyncDevice};
use windlass_base::Time;
use windlass_probe::linux::{Driver, measure};
use windlass_probe::session::Outcome;
use windlass_probe::{Session, Settings, Target};
use windlass_probe_serve::Server;
use windlass_testbed::{Namespace, Need, join, skip_unless};

/// Whether the test cannot run; prints the reason.
pub(crate) fn skipped() -> bool {
    skip_unless(&[Need::Root, Need::Program("ip")])
}

pub(crate) fn probe(target: &str, settings: Settings) -> Outcome {
    let mut driver = Driver::open().expect("root");
    let mut session = Session::new(Target::parse(target).expect("a target"), settings);
    measure(&mut driver, &mut session, |_| true).expect("sockets");
    session.outcome()
}

/// The RTT to the server behind the TUN device, long enough that a loaded machine does not split flights.
pub(crate) const DELAY: Duration = Duration::from_millis(40);

/// Lets the server answer at the other end of a TUN device until `stop`.
pub(crate) fn serve(tun: &SyncDevice, server: &mut dyn Server, stop: &AtomicBool) {
    let start = Instant::now();
    let now = || Time::from_nanos(start.elapsed().as_nanos() as u64);
    let mut way: VecDeque<(Instant, Vec<u8>)> = VecDeque::new();
    let mut buffer = vec![0; 65536];
    while !stop.load(Ordering::Relaxed) {
        while let Ok(len) = tun.recv(&mut buffer) {
            server.handle_packet(now(), &buffer[..len]);
        }
        if server.poll_timeout().is_some_and(|at| at <= now()) {
            server.handle_timeout(now());
        }
        while let Some(packet) = server.poll_packet(now()) {
            way.push_back((Instant::now() + DELAY, packet));
        }
        while way.front().is_some_and(|(due, _)| *due <= Instant::now()) {
            let packet = way.pop_front().expect("there").1;
            tun.send(&packet).expect("the device is up");
        }
        thread::sleep(Duration::from_micros(300));
    }
}

/// Runs `body` in a namespace with 10.98.0.1 and fd98::1. Behind a TUN device a server has every other
/// address of these networks.
pub(crate) fn with_server<T: Send>(
    server: impl FnOnce() -> Box<dyn Server> + Send,
    body: impl FnOnce() -> T + Send,
) -> T {
    let namespace = Namespace::new("wpr");
    namespace.inside(|| {
        let tun = DeviceBuilder::new().name("server").build_sync().expect("/dev/net/tun");
        tun.set_nonblocking(true).expect("a device");
        namespace.bring_up("server", &["10.98.0.1/24", "fd98::1/64"]);
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| serve(&tun, &mut *server(), &stop));
            let result = body();
            stop.store(true, Ordering::Relaxed);
            result
        })
    })
}

/// The client's namespace, and another in which the kernel serves port 80 at 10.97.0.2 and fd97::2.
pub(crate) fn kernel_server() -> (Namespace, Namespace) {
    let (client, server) = (Namespace::new("wpr"), Namespace::new("wpr"));
    join((&client, "v"), (&server, "peer"));
    client.bring_up("v", &["10.97.0.1/24", "fd97::1/64"]);
    server.bring_up("peer", &["10.97.0.2/24", "fd97::2/64"]);
    (client, server)
}

//! Servers behind a TUN device: `windlass probe serve`.

use crate::ended::Ended;
use crate::network::Network;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::convert::Infallible;
use std::io;
use std::os::fd::AsFd;
use std::time::Instant;
use tun_rs::{DeviceBuilder, SyncDevice};
use windlass_base::Time;

/// Length of the device's queue, in packets.
const QUEUE_PACKETS: u32 = 10_000;
const WAIT_MAX_MS: u64 = 1000;
/// Packets that are taken before the servers' turn: a flood must not keep them from answering.
const BATCH_PACKETS: usize = 256;

/// Runs the servers of a network behind the TUN device `device`, and creates the device if it does not
/// exist. The user configures its addresses and routes. Calls `ready` once the servers answer, and `ended` after
/// each connection. Returns only on an error.
///
/// # Errors
///
/// The device cannot be opened: the process lacks CAP_NET_ADMIN, or the device is no TUN device.
pub fn serve(
    mut network: Network,
    device: &str,
    ready: impl FnOnce(),
    ended: impl Fn(&Ended),
) -> io::Result<Infallible> {
    let tun = DeviceBuilder::new().name(device).tx_queue_len(QUEUE_PACKETS).build_sync()?;
    tun.set_nonblocking(true)?;
    let start = Instant::now();
    let now = || Time::from_nanos(start.elapsed().as_nanos() as u64);
    let mut buffer = vec![0; 65536];
    ready();
    loop {
        for _ in 0..BATCH_PACKETS {
            let Ok(len) = tun.recv(&mut buffer) else { break };
            network.take(now(), buffer[..len].to_vec());
        }
        while let Some(packet) = network.poll(now()) {
            // While the device is down sending fails, and the packet counts as lost.
            let _ = tun.send(&packet);
        }
        std::iter::from_fn(|| network.poll_ended()).for_each(|connection| ended(&connection));
        wait(&tun, network.poll_timeout(), now())?;
    }
}

fn wait(tun: &SyncDevice, due: Option<Time>, now: Time) -> io::Result<()> {
    let ms =
        due.map_or(WAIT_MAX_MS, |due| due.saturating_since(now).as_nanos().div_ceil(1_000_000));
    let timeout = PollTimeout::try_from(ms.min(WAIT_MAX_MS)).unwrap_or(PollTimeout::ZERO);
    let mut fds = [PollFd::new(tun.as_fd(), PollFlags::POLLIN)];
    match poll(&mut fds, timeout) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

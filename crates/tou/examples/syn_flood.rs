//! Sends SYNs from sources that do not exist: `syn_flood ADDRESS PER_SECOND SECONDS`. Needs root. Use
//! it only in a network of your own.
//!
//! Prints the number of SYNs sent.

use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::error::Error;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::{Duration, Instant};
use windlass_base::Rng;
use windlass_tcp::{Flags, Options, Segment, SeqNumber};
use windlass_tou::wire;

const IP_HEADER_LEN: usize = 20;
const UDP_HEADER_LEN: usize = 8;
const PROTOCOL_UDP: u8 = 17;
/// SYNs sent between two readings of the clock.
const BATCH: u64 = 50;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [target, per_s, seconds] = &arguments[..] else {
        return Err("expected ADDRESS PER_SECOND SECONDS".into());
    };
    let target: SocketAddrV4 = target.parse()?;
    let (per_s, seconds): (f64, f64) = (per_s.parse()?, seconds.parse()?);
    let socket = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::UDP))?;
    socket.set_header_included_v4(true)?;
    let to = SockAddr::from(SocketAddrV4::new(*target.ip(), 0));
    let mut rng = Rng::new(1);
    let (start, mut sent, mut refused) = (Instant::now(), 0, 0);
    while start.elapsed().as_secs_f64() < seconds {
        let due = start + Duration::from_secs_f64(sent as f64 / per_s);
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        for _ in 0..BATCH {
            refused += u64::from(socket.send_to(&syn(&mut rng, target), &to).is_err());
        }
        sent += BATCH;
    }
    println!("{sent} SYNs in {seconds} s, of which the socket refused {refused}");
    Ok(())
}

/// A SYN with the options of a typical client, from a random address in 10.128.0.0/9. The kernel
/// fills in length, identification and checksum of the IP header (raw(7)). The packet has no UDP
/// checksum, so the receiver checks none.
fn syn(rng: &mut Rng, target: SocketAddrV4) -> Vec<u8> {
    let segment = Segment {
        seq: SeqNumber(rng.bits() as u32),
        flags: Flags::SYN,
        window: u16::MAX,
        options: Options {
            mss: Some(1456),
            window_scale: Some(7),
            sack_permitted: true,
            ..Options::default()
        },
        ..Segment::default()
    };
    let at = IP_HEADER_LEN + UDP_HEADER_LEN;
    let mut packet = vec![0; at + wire::MAX_HEADER_LEN];
    let len = wire::emit(&segment, &mut packet[at..]);
    packet.truncate(at + len);
    let source = Ipv4Addr::from(0x0a80_0000 | rng.bits() as u32 & 0x007f_ffff);
    packet[0] = 0x45;
    packet[8] = 64;
    packet[9] = PROTOCOL_UDP;
    packet[12..16].copy_from_slice(&source.octets());
    packet[16..20].copy_from_slice(&target.ip().octets());
    packet[20..22].copy_from_slice(&(1024 + rng.bits() as u16 % 60_000).to_be_bytes());
    packet[22..24].copy_from_slice(&target.port().to_be_bytes());
    packet[24..26].copy_from_slice(&((UDP_HEADER_LEN + len) as u16).to_be_bytes());
    packet
}

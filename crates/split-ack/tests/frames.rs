//! Whole frames through the programs. Frames other than the command's ACKs pass unchanged. An ACK of the
//! command leaves unchanged too, as the last of its parts. The tests need root.

use std::sync::{Mutex, PoisonError};
use windlass_split_ack::{Cgroup, Settings, Splitter};
use windlass_testbed::{Namespace, Need, skip_unless};

/// A process is in one cgroup at a time.
static CGROUP: Mutex<()> = Mutex::new(());
/// TC_ACT_UNSPEC: the packet goes on.
const ON: i32 = -1;
const IPV4_TCP: usize = 14 + 20;

/// The programs, with this very process as the command: the kernel runs a test's frame as if this
/// process had sent it. The namespace has no interface but loopback, into which the parts go.
fn with_splitter(work: impl FnOnce(&mut Splitter) + Send) {
    if skip_unless(&[Need::Root, Need::Program("ip")]) {
        return;
    }
    let _turn = CGROUP.lock().unwrap_or_else(PoisonError::into_inner);
    Namespace::new("wsf").inside(|| {
        let cgroup = Cgroup::new().expect("a cgroup");
        cgroup.enter().expect("entered");
        let settings = Settings {
            split: 4,
            acks: 3,
            interfaces: vec!["lo".into()],
            clsact: false,
            rounds: true,
        };
        let mut splitter = Splitter::new(&settings, &cgroup).unwrap_or_else(|e| panic!("{e}"));
        work(&mut splitter);
        drop(splitter);
        cgroup.leave().expect("left");
    });
}

/// RFC 1071.
fn checksum(bytes: &[u8]) -> u16 {
    let words =
        bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// A frame of Ethernet and IPv4 with right checksums.
fn frame(ack: u32, flags: u8, options: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut tcp = vec![0x9c, 0x40, 0, 80, 0, 0, 1, 0];
    tcp.extend(ack.to_be_bytes());
    tcp.extend([((20 + options.len() as u8) / 4) << 4, flags, 0x20, 0, 0, 0, 0, 0]);
    tcp.extend([options, payload].concat());
    let (from, to) = ([10, 0, 0, 1], [10, 0, 0, 2]);
    let pseudo = [&from[..], &to, &[0, 6], &(tcp.len() as u16).to_be_bytes(), &tcp].concat();
    let check = checksum(&pseudo).to_be_bytes();
    tcp[16..18].copy_from_slice(&check);
    let mut ip = vec![0x45, 0];
    ip.extend((20 + tcp.len() as u16).to_be_bytes());
    ip.extend([0, 1, 0x40, 0, 64, 6, 0, 0]);
    ip.extend([from, to].concat());
    let check = checksum(&ip).to_be_bytes();
    ip[10..12].copy_from_slice(&check);
    [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0][..], &ip, &tcp].concat()
}

fn pass(splitter: &mut Splitter, frame: &[u8]) {
    let (action, out) = splitter.run_frame(true, frame).unwrap_or_else(|error| panic!("{error}"));
    assert!(action == ON && out == frame, "{frame:02x?} became {out:02x?}");
}

const SYN: u8 = 0x02;
const ACK: u8 = 0x10;
const FIN_ACK: u8 = 0x11;

#[test]
fn acks_of_new_data_are_split_and_others_are_not() {
    with_splitter(|splitter| {
        let timestamps = [1, 1, 8, 10, 0, 0, 0, 2, 0, 0, 0, 1];
        let sack = [1, 1, 5, 10, 0, 1, 0, 0, 0, 2, 0, 0];
        let so_far = |splitter: &Splitter| {
            let all = splitter.connections().expect("readable");
            let one = &all[0];
            (one.acks_split, one.acks_sent + one.acks_lost, one.acks_with_sack, one.acks_with_data)
        };
        pass(splitter, &frame(0, SYN, &[2, 4, 5, 0xb4], &[]));
        for (what, frame, counted) in [
            ("the ACK of the peer's SYN", frame(1000, ACK, &[], &[]), (0, 0, 0, 0)),
            ("nothing new", frame(1000, ACK, &timestamps, &[]), (0, 0, 0, 0)),
            ("a duplicate", frame(900, ACK, &timestamps, &[]), (0, 0, 0, 0)),
            ("with data", frame(2000, ACK, &timestamps, b"GET"), (0, 0, 0, 1)),
            ("new data", frame(4000, ACK, &timestamps, &[]), (1, 4, 0, 1)),
            ("with SACK", frame(5000, ACK, &sack, &[]), (1, 4, 1, 1)),
            ("options that do not parse", frame(5100, ACK, &[8, 0, 0, 0], &[]), (1, 4, 2, 1)),
            ("two bytes become two parts", frame(5102, ACK, &[], &[]), (2, 6, 2, 1)),
            ("the third", frame(9102, ACK, &[], &[]), (3, 10, 2, 1)),
            ("no fourth", frame(9902, ACK, &[], &[]), (3, 10, 2, 1)),
            ("with FIN, too late to matter", frame(9999, FIN_ACK, &[], &[]), (3, 10, 2, 1)),
        ] {
            pass(splitter, &frame);
            assert_eq!(so_far(splitter), counted, "{what}");
        }
        let acked = splitter.connections().expect("readable")[0].acked_bytes;
        assert_eq!(acked, 9999 - 1000);
        // The same ports again: the new connection has three splits of its own.
        let mut again = frame(0, SYN, &[], &[]);
        again[IPV4_TCP + 7] = 9;
        pass(splitter, &again);
        pass(splitter, &frame(50_000, ACK, &[], &[]));
        pass(splitter, &frame(60_000, ACK, &[], &[]));
        assert_eq!(so_far(splitter), (4, 14, 2, 1));
        assert_eq!(splitter.connections().expect("readable")[0].connections, 2);
    });
}

#[test]
fn garbage_and_what_is_cut_short_pass_as_they_came() {
    with_splitter(|splitter| {
        let whole = frame(1000, ACK, &[1, 1, 8, 10, 0, 0, 0, 2, 0, 0, 0, 1], &[]);
        for length in 15..whole.len() {
            // The kernel itself refuses to run some.
            let Ok((action, out)) = splitter.run_frame(true, &whole[..length]) else { continue };
            assert!(action == ON && out == whole[..length], "{length} bytes");
        }
        // xorshift64: the same garbage in every run.
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        for _ in 0..20_000 {
            let length = 15 + random() as usize % 120;
            let mut garbage: Vec<u8> = (0..length).map(|_| random() as u8).collect();
            // Half of it looks like something at first.
            if random() & 1 == 0 {
                let alike = whole.len().min(length).min(14 + random() as usize % 40);
                garbage[..alike].copy_from_slice(&whole[..alike]);
            }
            for ethernet in [true, false] {
                let Ok((action, out)) = splitter.run_frame(ethernet, &garbage) else { continue };
                assert!(action == ON && out == garbage, "{garbage:02x?}");
            }
        }
        let fragment = |at: usize, value: u8| {
            let mut changed = whole.clone();
            changed[at] = value;
            changed
        };
        let before = splitter.connections().expect("readable").len();
        for (at, value) in
            [(20, 0x20), (21, 9), (23, 17), (14, 0x55), (14, 0x44), (46, 0x40), (46, 0xf0), (13, 6)]
        {
            pass(splitter, &fragment(at, value));
        }
        assert_eq!(splitter.connections().expect("readable").len(), before);
    });
}

//! Checks the dissector in `wireshark/tou.lua` with tshark.

mod page;

use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Command;
use windlass_base::{Ecn, Rng};
use windlass_tcp::segment::ip::{Addresses, IPV4_HEADER_LEN, IpHeader};
use windlass_tcp::segment::wire::WireError;
use windlass_tcp::{
    AccEcnOption, AccEcnOrder, Flags, Options, SackBlocks, Segment, SeqNumber, Timestamps,
};
use windlass_tou::wire::{self, ParseError};

const CLIENT: (Ipv4Addr, u16) = (Ipv4Addr::new(192, 0, 2, 1), 50000);
const SERVER: (Ipv4Addr, u16) = (Ipv4Addr::new(198, 51, 100, 2), 7000);
const UDP_HEADER_LEN: usize = 8;
const PROTOCOL_UDP: u8 = 17;

/// The sender of a datagram. The other end receives it.
#[derive(Copy, Clone, PartialEq)]
enum Sender {
    Client,
    Server,
}

use Sender::{Client, Server};
use windlass_testbed::skip;

/// Whether tshark is installed. Prints a line if not.
fn has_tshark() -> bool {
    let found = Command::new("tshark").arg("--version").output().is_ok();
    if !found {
        skip("needs tshark");
    }
    found
}

/// A capture file, and an empty home directory for tshark, so that no settings interfere.
struct Capture {
    folder: PathBuf,
}

impl Capture {
    fn new(test: &str, datagrams: &[(Sender, Vec<u8>)]) -> Capture {
        Capture::with_limit(test, datagrams, usize::MAX)
    }

    /// A capture with only the first `limit` bytes of each packet.
    fn with_limit(test: &str, datagrams: &[(Sender, Vec<u8>)], limit: usize) -> Capture {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("wireshark").join(test);
        fs::create_dir_all(&folder).expect("writable");
        // Classic pcap, microseconds; 101 is raw IP.
        let words: [u32; 6] = [0xa1b2_c3d4, 2 | 4 << 16, 0, 0, 1 << 16, 101];
        let mut file: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        for (number, (from, datagram)) in datagrams.iter().enumerate() {
            let packet = packet(*from, datagram);
            let kept = packet.len().min(limit);
            for word in [number as u32, 0, kept as u32, packet.len() as u32] {
                file.extend_from_slice(&word.to_le_bytes());
            }
            file.extend_from_slice(&packet[..kept]);
        }
        fs::write(folder.join("tou.pcap"), file).expect("writable");
        Capture { folder }
    }

    fn tshark(&self, args: &[&str]) -> String {
        let script = concat!("lua_script:", env!("CARGO_MANIFEST_DIR"), "/wireshark/tou.lua");
        let output = Command::new("tshark")
            .env("HOME", &self.folder)
            .env("XDG_CONFIG_HOME", &self.folder)
            .args(["-X", script, "-r"])
            .arg(self.folder.join("tou.pcap"))
            .args(args)
            .output()
            .expect("tshark");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && !errors.contains("Lua"), "{errors}");
        let text = String::from_utf8(output.stdout).expect("text");
        assert!(!text.contains("Lua Error"), "{text}");
        text
    }

    /// The protocol and info columns of each packet.
    fn columns(&self) -> Vec<String> {
        let said = self.tshark(&["-o", r#"gui.column.format:"P","%p","I","%i""#]);
        said.lines().map(|line| line.trim().to_owned()).collect()
    }

    /// The value of each field in each packet; the last one if a field occurs twice.
    fn fields(&self, names: &[&str], more: &[&str]) -> Vec<Vec<String>> {
        let names = names.iter().flat_map(|name| ["-e", name]);
        let args = ["-T", "fields", "-E", "occurrence=l"].into_iter().chain(names);
        let said = self.tshark(&args.chain(more.iter().copied()).collect::<Vec<_>>());
        said.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
    }
}

/// The datagram with its UDP and IP headers and their checksums.
fn packet(from: Sender, datagram: &[u8]) -> Vec<u8> {
    let (source, destination) = if from == Client { (CLIENT, SERVER) } else { (SERVER, CLIENT) };
    let len = (UDP_HEADER_LEN + datagram.len()) as u16;
    let mut udp = [source.1, destination.1, len, 0].map(u16::to_be_bytes).concat();
    udp.extend_from_slice(datagram);
    let pseudo = [&source.0.octets()[..], &destination.0.octets(), &[0, PROTOCOL_UDP]].concat();
    let checksum = checksum(&[&pseudo[..], &len.to_be_bytes(), &udp].concat());
    udp[6..8].copy_from_slice(&checksum.to_be_bytes());
    let header = IpHeader {
        addresses: Addresses::V4 { source: source.0, destination: destination.0 },
        ecn: Ecn::NotEct,
        hop_limit: 64,
        protocol: PROTOCOL_UDP,
        identification: 0,
    };
    let mut ip = [0; 40];
    let ip_len = header.emit(udp.len(), &mut ip).expect("short enough");
    [&ip[..ip_len], &udp].concat()
}

/// The checksum of RFC 768, which represents zero by ones.
fn checksum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2).map(|w| u64::from(w[0]) << 8 | u64::from(*w.get(1).unwrap_or(&0)));
    let mut sum: u64 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    if sum == 0xffff { 0xffff } else { !sum as u16 }
}

fn datagram(segment: &Segment, payload: &[u8]) -> Vec<u8> {
    let mut header = [0; wire::MAX_HEADER_LEN];
    let len = wire::emit(segment, &mut header);
    [&header[..len], payload].concat()
}

#[test]
fn the_connection_of_the_page_reads_like_one_of_tcp() {
    if !has_tshark() {
        return;
    }
    let from = [Client, Server, Client, Client, Server, Server, Client, Server, Server];
    let datagrams: Vec<_> = from.into_iter().zip(page::datagrams()).collect();
    let capture = Capture::new("page", &datagrams);
    let ends = ["50000 → 7000", "7000 → 50000"];
    let lines = [
        (0, "[SYN, ECE, CWR] Seq=0 Win=65535 Len=0 MSS=1456 SACK_PERM TSval=100000 TSecr=0 WS=32"),
        (
            1,
            "[SYN, ACK, ECE] Seq=0 Ack=1 Win=65535 Len=0 MSS=1456 SACK_PERM TSval=7000010 TSecr=100000 WS=32",
        ),
        (0, "[ACK] Seq=1 Ack=1 Win=1048576 Len=0 TSval=100020 TSecr=7000010"),
        (0, "[FIN, PSH, ACK] Seq=1 Ack=1 Win=1048576 Len=5 TSval=100020 TSecr=7000010"),
        (1, "[ACK] Seq=1 Ack=7 Win=1048544 Len=0 TSval=7000030 TSecr=100020"),
        (1, "[FIN, ACK] Seq=1 Ack=7 Win=1048544 Len=0 TSval=7000030 TSecr=100020"),
        (0, "[ACK] Seq=7 Ack=2 Win=1048544 Len=0 TSval=100040 TSecr=7000030"),
        (1, "[ACK] Seq=1 Ack=1445 Win=1047104 Len=0 TSval=7000030 TSecr=100020 SLE=2889 SRE=4333"),
        (1, "[RST] Seq=1 Win=0 Len=0"),
    ];
    let lines = lines.map(|(end, line)| format!("ToU {} {line}", ends[end]));
    assert_eq!(capture.columns(), lines);
    let whole =
        capture.fields(&["udp.checksum.status", "tou.payload"], &["-o", "udp.check_checksum:TRUE"]);
    assert!(whole.iter().all(|fields| fields[0] == "1"), "{whole:?}");
    assert_eq!(whole[3][1], "68656c6c6f");
    assert_eq!(capture.tshark(&["-Y", "_ws.expert && tou.flags.reset == 0"]), "");
}

/// docs/reference/tou-protocol.md, "AccECN".
#[test]
fn accecn_is_shown_as_an_option_a_flag_and_counters() {
    if !has_tshark() {
        return;
    }
    let counters = AccEcnOption::new(AccEcnOrder::Ect1First, &[1, 1448, 3000]);
    let segments = [
        Segment { flags: Flags::SYN | Flags::AE | Flags::CWR | Flags::ECE, ..Segment::default() },
        Segment { flags: Flags::SYN | Flags::ACK | Flags::CWR, ..Segment::default() },
        Segment {
            flags: Flags::ACK | Flags::AE | Flags::ECE,
            options: Options { accecn: Some(counters), ..Options::default() },
            ..Segment::default()
        },
    ];
    let capture =
        Capture::new("accecn", &segments.map(|segment| (Client, datagram(&segment, b""))));
    let counters = ["ee0b", "eceb", "ee1b"].map(|name| format!("tou.options.acc_ecn.{name}"));
    let [ee0b, eceb, ee1b] = &counters;
    let names = ["tou.flags", "tou.options.acc_ecn.flags", ee0b, eceb, ee1b, "tou.reserved.set"];
    let expected = [
        ["0x62", "7", "", "", "", ""],
        ["0x12", "2", "", "", "", ""],
        ["0xb0", "", "3000", "1448", "1", ""],
    ];
    assert_eq!(capture.fields(&names, &[]), expected);
    assert!(capture.tshark(&["-Y", "tou.flags.ae == 1"]).contains("[ACK, ECE, AE]"));
}

#[test]
fn other_protocols_are_left_to_their_dissectors() {
    if !has_tshark() {
        return;
    }
    let mut stun = vec![0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42];
    stun.extend(1..=12);
    let strange = vec![0xee; 30];
    let capture =
        Capture::new("others", &[(Client, stun), (Client, strange), (Client, vec![7; 3])]);
    let protocols = capture.fields(&["frame.protocols"], &[]).concat();
    assert_eq!(protocols, ["raw:ip:udp:stun", "raw:ip:udp:data", "raw:ip:udp:data"]);
}

#[test]
fn coalesced_segments_are_shown_one_by_one() {
    if !has_tshark() {
        return;
    }
    let part = |index: u32, len: usize| {
        let seq = SeqNumber(u32::MAX - 150).at(u64::from(100 * index));
        let segment = Segment { seq, flags: Flags::ACK, ..Segment::default() };
        datagram(&segment, &vec![index as u8; len])
    };
    let joined = [part(0, 100), part(1, 100), part(2, 100), part(3, 7)].concat();
    let capture = Capture::new("joined", &[(Server, joined)]);
    let args = ["-T", "fields", "-e", "tou.seq_raw", "-e", "tou.len", "-e", "tou.segments"];
    assert_eq!(capture.tshark(&args), "4294967145,4294967245,49,149\t100,100,100,7\t4\n");
}

#[test]
fn a_truncated_header_is_reported() {
    if !has_tshark() {
        return;
    }
    let options = Options { mss: Some(1456), sack_permitted: true, ..Options::default() };
    let segment = Segment { flags: Flags::SYN, options, ..Segment::default() };
    let whole = [(Client, datagram(&segment, b"payload"))];
    for (captured, note, len) in [(7, "", ""), (8, "1", ""), (23, "1", ""), (24, "", "7")] {
        let limit = IPV4_HEADER_LEN + UDP_HEADER_LEN + captured;
        let capture = Capture::with_limit(&format!("cut-{captured}"), &whole, limit);
        assert_eq!(capture.fields(&["tou.cut", "tou.len"], &[]), [[note, len]], "{captured} bytes");
    }
}

const FIELDS: [&str; 11] = [
    "tou.seq_raw",
    "tou.ack_raw",
    "tou.flags",
    "tou.window_size_value",
    "tou.len",
    "tou.options.mss_val",
    "tou.options.wscale.shift",
    "tou.options.sack_perm",
    "tou.options.timestamp.tsval",
    "tou.options.timestamp.tsecr",
    "tou.options.sack_re",
];
/// The index of the window shift in [`FIELDS`].
const SHIFT: usize = 6;
const FAULTS: [&str; 3] = ["tou.reserved.set", "tou.hdr_len.bogus", "tou.options.bogus"];

/// The value of each of [`FIELDS`] as ToU parses it, or the index in [`FAULTS`] of its error.
fn read(datagram: &[u8]) -> Result<Vec<String>, usize> {
    let segment = match wire::parse(datagram) {
        Ok((segment, _)) => segment,
        Err(ParseError::Version) => return Err(0),
        Err(ParseError::Header(WireError::OptionLength)) => return Err(2),
        Err(_) => return Err(1),
    };
    let options = &segment.options;
    let said = |number: Option<u32>| number.map_or(String::new(), |number| number.to_string());
    Ok(vec![
        segment.seq.0.to_string(),
        segment.ack.0.to_string(),
        format!("{:#04x}", datagram[13]),
        segment.window.to_string(),
        segment.payload_len.to_string(),
        said(options.mss.map(u32::from)),
        said(options.window_scale.map(u32::from)),
        said(options.sack_permitted.then_some(1)),
        said(options.timestamps.map(|stamps| stamps.value)),
        said(options.timestamps.map(|stamps| stamps.echo_reply)),
        said(options.sack.as_slice().last().map(|(_, right)| right.0)),
    ])
}

/// A random segment with random damage.
fn strange_datagram(rng: &mut Rng) -> Vec<u8> {
    let mut some = |p| if rng.chance(p) { Some(rng.bits() as u32) } else { None };
    let mut sack = SackBlocks::default();
    while let (Some(left), Some(right)) = (some(0.4), some(1.0)) {
        sack.push(SeqNumber(left), SeqNumber(right));
    }
    let segment = Segment {
        seq: SeqNumber(some(1.0).unwrap_or(0)),
        ack: SeqNumber(some(1.0).unwrap_or(0)),
        flags: Flags::from_bits_retain(some(1.0).unwrap_or(0) as u16 & 0x1ff) - Flags::URG,
        window: some(1.0).unwrap_or(0) as u16,
        options: Options {
            mss: some(0.3).map(|bits| bits as u16),
            window_scale: some(0.3).map(|bits| bits as u8 % 15),
            sack_permitted: some(0.3).is_some(),
            timestamps: some(0.5).map(|value| Timestamps { value, echo_reply: !value }),
            sack,
            accecn: None,
        },
        payload_len: 0,
    };
    let mut bytes = datagram(&segment, &vec![0x55; rng.below(50) as usize]);
    if rng.chance(0.4) {
        // Damages the options, which follow the fixed header.
        let at = 16 + rng.below(bytes.len() as u64 - 15) as usize;
        let value = if rng.chance(0.5) { rng.below(12) as u8 } else { rng.bits() as u8 };
        bytes.get_mut(at).into_iter().for_each(|byte| *byte = value);
    }
    if rng.chance(0.2) {
        let at = 12 + rng.below(2) as usize;
        bytes[at] = rng.bits() as u8;
    }
    if rng.chance(0.2) {
        // Keeps ToU's cookie.
        bytes.truncate(rng.between(8, bytes.len() as u64) as usize);
    }
    bytes
}

#[test]
fn the_dissector_agrees_with_the_parser_on_fields_and_faults() {
    if !has_tshark() {
        return;
    }
    let mut rng = Rng::new(7);
    let datagrams: Vec<_> = (0..4000).map(|_| (Client, strange_datagram(&mut rng))).collect();
    let capture = Capture::new("strange", &datagrams);
    let names = [&FIELDS[..], &FAULTS].concat();
    let shown = capture.fields(&names, &["-o", "tou.relative:FALSE"]);
    assert_eq!(shown.len(), datagrams.len());
    let mut found = [0; FAULTS.len()];
    for ((_, datagram), mut shown) in datagrams.iter().zip(shown) {
        let faults: Vec<bool> =
            shown.split_off(FIELDS.len()).iter().map(|f| !f.is_empty()).collect();
        // RFC 7323 §2.3: a larger shift counts as 14.
        if let Ok(shift) = shown[SHIFT].parse::<u8>() {
            shown[SHIFT] = shift.min(14).to_string();
        }
        match read(datagram) {
            Ok(fields) => assert_eq!((shown, faults), (fields, vec![false; 3]), "{datagram:02x?}"),
            // The dissector continues after the first fault and may find more.
            Err(fault) => {
                assert_eq!(faults.iter().position(|there| *there), Some(fault), "{datagram:02x?}");
                found[fault] += 1;
            }
        }
    }
    assert!(found.iter().all(|count| *count > 100), "{found:?}");
    // The full output must not cause Lua errors.
    capture.tshark(&["-V"]);
}

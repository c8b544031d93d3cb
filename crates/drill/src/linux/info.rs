//! `struct tcp_info` and the controllers' structures, by the names of their fields (linux/tcp.h, linux/inet_diag.h).

use super::sys;
use crate::subject::Unsupported;
use nix::errno::Errno;
use nix::libc;
use std::collections::BTreeMap;
use std::ops::Range;
use std::os::fd::RawFd;

/// More than any kernel's structure has.
const ROOM: usize = 1024;

/// The kind of a field.
#[derive(Copy, Clone, Debug)]
enum Kind {
    U8,
    U16,
    U32,
    U64,
    /// Some bits of one of `bytes` bytes; the first field of those bytes has the lowest bits.
    Bits {
        bytes: usize,
        bits: Range32,
    },
}

/// A range of bits, as [`Range`] is not `Copy`.
#[derive(Copy, Clone, Debug)]
struct Range32 {
    from: u32,
    len: u32,
}

const fn bits(bytes: usize, from: u32, len: u32) -> Kind {
    Kind::Bits { bytes, bits: Range32 { from, len } }
}

type Field = (&'static str, Kind);

use Kind::{U8, U16, U32, U64};

/// `struct tcp_info` in order. Kernels only append to it: those before 7.0 end before AccECN's fields.
const TCP_INFO: &[Field] = &[
    ("tcpi_state", U8),
    ("tcpi_ca_state", U8),
    ("tcpi_retransmits", U8),
    ("tcpi_probes", U8),
    ("tcpi_backoff", U8),
    ("tcpi_options", U8),
    ("tcpi_snd_wscale", bits(1, 0, 4)),
    ("tcpi_rcv_wscale", bits(1, 4, 4)),
    ("tcpi_delivery_rate_app_limited", bits(1, 0, 1)),
    ("tcpi_fastopen_client_fail", bits(1, 1, 2)),
    ("tcpi_rto", U32),
    ("tcpi_ato", U32),
    ("tcpi_snd_mss", U32),
    ("tcpi_rcv_mss", U32),
    ("tcpi_unacked", U32),
    ("tcpi_sacked", U32),
    ("tcpi_lost", U32),
    ("tcpi_retrans", U32),
    ("tcpi_fackets", U32),
    ("tcpi_last_data_sent", U32),
    ("tcpi_last_ack_sent", U32),
    ("tcpi_last_data_recv", U32),
    ("tcpi_last_ack_recv", U32),
    ("tcpi_pmtu", U32),
    ("tcpi_rcv_ssthresh", U32),
    ("tcpi_rtt", U32),
    ("tcpi_rttvar", U32),
    ("tcpi_snd_ssthresh", U32),
    ("tcpi_snd_cwnd", U32),
    ("tcpi_advmss", U32),
    ("tcpi_reordering", U32),
    ("tcpi_rcv_rtt", U32),
    ("tcpi_rcv_space", U32),
    ("tcpi_total_retrans", U32),
    ("tcpi_pacing_rate", U64),
    ("tcpi_max_pacing_rate", U64),
    ("tcpi_bytes_acked", U64),
    ("tcpi_bytes_received", U64),
    ("tcpi_segs_out", U32),
    ("tcpi_segs_in", U32),
    ("tcpi_notsent_bytes", U32),
    ("tcpi_min_rtt", U32),
    ("tcpi_data_segs_in", U32),
    ("tcpi_data_segs_out", U32),
    ("tcpi_delivery_rate", U64),
    ("tcpi_busy_time", U64),
    ("tcpi_rwnd_limited", U64),
    ("tcpi_sndbuf_limited", U64),
    ("tcpi_delivered", U32),
    ("tcpi_delivered_ce", U32),
    ("tcpi_bytes_sent", U64),
    ("tcpi_bytes_retrans", U64),
    ("tcpi_dsack_dups", U32),
    ("tcpi_reord_seen", U32),
    ("tcpi_rcv_ooopack", U32),
    ("tcpi_snd_wnd", U32),
    ("tcpi_rcv_wnd", U32),
    ("tcpi_rehash", U32),
    ("tcpi_total_rto", U16),
    ("tcpi_total_rto_recoveries", U16),
    ("tcpi_total_rto_time", U32),
    ("tcpi_received_ce", U32),
    ("tcpi_delivered_e1_bytes", U32),
    ("tcpi_delivered_e0_bytes", U32),
    ("tcpi_delivered_ce_bytes", U32),
    ("tcpi_received_e1_bytes", U32),
    ("tcpi_received_e0_bytes", U32),
    ("tcpi_received_ce_bytes", U32),
    ("tcpi_ecn_mode", bits(4, 0, 2)),
    ("tcpi_accecn_opt_seen", bits(4, 2, 2)),
    ("tcpi_accecn_fail_mode", bits(4, 4, 4)),
    ("tcpi_options2", bits(4, 8, 24)),
];

/// `struct tcpvegas_info`.
const VEGAS: &[Field] =
    &[("tcpv_enabled", U32), ("tcpv_rttcnt", U32), ("tcpv_rtt", U32), ("tcpv_minrtt", U32)];

/// `struct tcp_dctcp_info`.
const DCTCP: &[Field] = &[
    ("dctcp_enabled", U16),
    ("dctcp_ce_state", U16),
    ("dctcp_alpha", U32),
    ("dctcp_ab_ecn", U32),
    ("dctcp_ab_tot", U32),
];

/// `struct tcp_bbr_info`.
const BBR: &[Field] = &[
    ("bbr_bw_lo", U32),
    ("bbr_bw_hi", U32),
    ("bbr_min_rtt", U32),
    ("bbr_pacing_gain", U32),
    ("bbr_cwnd_gain", U32),
];

/// The socket's memory (linux/sock_diag.h).
const MEMORY: &[Field] = &[
    ("SK_MEMINFO_RMEM_ALLOC", U32),
    ("SK_MEMINFO_RCVBUF", U32),
    ("SK_MEMINFO_WMEM_ALLOC", U32),
    ("SK_MEMINFO_SNDBUF", U32),
    ("SK_MEMINFO_FWD_ALLOC", U32),
    ("SK_MEMINFO_WMEM_QUEUED", U32),
    ("SK_MEMINFO_OPTMEM", U32),
    ("SK_MEMINFO_BACKLOG", U32),
    ("SK_MEMINFO_DROPS", U32),
];

/// The state of a connection.
///
/// # Errors
///
/// The descriptor is no TCP socket.
pub(super) fn read(fd: RawFd) -> Result<BTreeMap<String, i64>, Unsupported> {
    let option = |level, name| {
        sys::option(fd, level, name, ROOM)
            .map_err(|error| Unsupported(format!("TCP_INFO: {}", Errno::from_raw(error).desc())))
    };
    let mut fields = BTreeMap::new();
    extend(&mut fields, TCP_INFO, &option(libc::IPPROTO_TCP, libc::TCP_INFO)?);
    extend(&mut fields, MEMORY, &option(libc::SOL_SOCKET, libc::SO_MEMINFO)?);
    // Empty with a controller that has none. Which one it is the kernel does not say here.
    let controller = option(libc::IPPROTO_TCP, libc::TCP_CC_INFO)?;
    for structure in [VEGAS, DCTCP, BBR] {
        extend(&mut fields, structure, &controller);
    }
    if let (Some(low), Some(high)) = (fields.get("bbr_bw_lo"), fields.get("bbr_bw_hi")) {
        let rate = high << 32 | low;
        fields.insert("bbr_bw".into(), rate);
    }
    Ok(fields)
}

/// Adds the fields that the kernel's structure has.
fn extend(fields: &mut BTreeMap<String, i64>, structure: &[Field], bytes: &[u8]) {
    for ((name, kind), place) in structure.iter().zip(places(structure)) {
        let Some(field) = bytes.get(place) else { return };
        fields.insert((*name).to_owned(), number(field, *kind));
    }
}

/// Where a C compiler puts the fields: each is aligned to its size; fields of bits share their bytes.
fn places(structure: &[Field]) -> Vec<Range<usize>> {
    let mut places: Vec<Range<usize>> = Vec::new();
    for (_, kind) in structure {
        let end = places.last().map_or(0, |place| place.end);
        let place = match kind {
            // Not the first bits of their bytes.
            Kind::Bits { bytes, bits } if bits.from > 0 => end - bytes..end,
            _ => {
                let start = end.next_multiple_of(size(*kind));
                start..start + size(*kind)
            }
        };
        places.push(place);
    }
    places
}

fn size(kind: Kind) -> usize {
    match kind {
        U8 => 1,
        U16 => 2,
        U32 => 4,
        U64 => 8,
        Kind::Bits { bytes, .. } => bytes,
    }
}

/// The number in these bytes, in the machine's order.
fn number(bytes: &[u8], kind: Kind) -> i64 {
    let mut wide = [0; 8];
    let number = if cfg!(target_endian = "little") {
        wide[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(wide)
    } else {
        wide[8 - bytes.len()..].copy_from_slice(bytes);
        u64::from_be_bytes(wide)
    };
    match kind {
        Kind::Bits { bits, .. } => (number >> bits.from & ((1 << bits.len) - 1)).cast_signed(),
        // A rate without a limit is all ones.
        _ => number.cast_signed(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(name: &str) -> Range<usize> {
        let position = TCP_INFO.iter().position(|(field, _)| *field == name).expect(name);
        places(TCP_INFO)[position].clone()
    }

    #[test]
    fn fields_are_where_linux_tcp_h_has_them() {
        assert_eq!(place("tcpi_rcv_wscale"), 6..7);
        assert_eq!(place("tcpi_delivery_rate_app_limited"), 7..8);
        assert_eq!(place("tcpi_rto"), 8..12);
        assert_eq!(place("tcpi_total_retrans"), 100..104);
        assert_eq!(place("tcpi_pacing_rate"), 104..112);
        // The sizes that the structure had in 4.19, in 5.4 and in 6.2.
        assert_eq!(place("tcpi_delivery_rate").end, 168);
        assert_eq!(place("tcpi_reord_seen").end, 224);
        assert_eq!(place("tcpi_rehash").end, 240);
        assert_eq!(place("tcpi_total_rto_time").end, 248);
        assert_eq!(place("tcpi_options2"), 276..280);
    }

    #[test]
    fn a_structure_that_ends_early_has_the_fields_before_its_end() {
        let mut fields = BTreeMap::new();
        let mut bytes = vec![0; 12];
        bytes[6] = 0x8a;
        bytes[7] = 0b101;
        bytes[8] = 200;
        extend(&mut fields, TCP_INFO, &bytes);
        let expected =
            [("tcpi_snd_wscale", 10), ("tcpi_rcv_wscale", 8), ("tcpi_fastopen_client_fail", 2)];
        for (name, value) in expected {
            assert_eq!(fields.get(name), Some(&value), "{name}");
        }
        assert_eq!(fields.get("tcpi_ato"), None);
    }
}

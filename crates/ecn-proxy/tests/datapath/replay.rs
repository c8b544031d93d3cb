//! The kernel's decisions, compared with those of the same machine compiled for this program.

use crate::marks::mark_until_a_virtual_loss;
use crate::skip;
use crate::testbed::{ProxyMachine, Testbed};
use libbpf_rs::RingBufferBuilder;
use std::cell::RefCell;
use windlass_ecn_proxy::datapath::Settings;
use windlass_ecn_proxy_core::{
    Actions, Block, Edit, Events, Flags, Flow, Options, Packet, Policy, Reply, Side,
};

/// The front of some bytes, as numbers.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let (head, tail) = self.0.split_first_chunk().expect("long enough");
        self.0 = tail;
        *head
    }

    fn u8(&mut self) -> u8 {
        self.bytes::<1>()[0]
    }

    fn u16(&mut self) -> u16 {
        u16::from_ne_bytes(self.bytes())
    }

    fn u32(&mut self) -> u32 {
        u32::from_ne_bytes(self.bytes())
    }

    fn blocks(&mut self) -> [Block; 4] {
        [0; 4].map(|_| Block { start: self.u32(), end: self.u32() })
    }
}

fn packet(r: &mut Reader<'_>) -> Packet {
    let packet = Packet {
        now_ns: u64::from_ne_bytes(r.bytes()),
        seq: r.u32(),
        ack: r.u32(),
        payload_bytes: r.u32(),
        segment_bytes: r.u32(),
        tsval: r.u32(),
        tsecr: r.u32(),
        window: r.u16(),
        options: Options::from_bits_retain(r.u16()),
        mss: r.u16(),
        flags: Flags::from_bits_retain(r.u8()),
        ae: r.u8(),
        codepoint: r.u8(),
        window_scale: r.u8(),
        block_count: r.u8(),
        reserved: r.u8(),
        blocks: r.blocks(),
    };
    // To the next multiple of eight.
    r.u32();
    packet
}

fn edit(r: &mut Reader<'_>) -> Edit {
    Edit {
        actions: Actions::from_bits_retain(r.u16()),
        window: r.u16(),
        ack: r.u32(),
        tsecr: r.u32(),
        codepoint: r.u8(),
        flags_clear: Flags::from_bits_retain(r.u8()),
        flags_set: Flags::from_bits_retain(r.u8()),
        clear_ae: r.u8(),
        clones: r.u8(),
        block_count: r.u8(),
        reason: r.u8(),
        reserved: r.u8(),
        events: Events::from_bits_retain(r.u32()),
        blocks: r.blocks(),
        reply: Reply {
            seq: r.u32(),
            ack: r.u32(),
            tsval: r.u32(),
            tsecr: r.u32(),
            window: r.u16(),
            timestamps: r.u8(),
            reserved: r.u8(),
        },
    }
}

/// `struct decision` of bpf/tables.h.
struct Decision {
    packet: Packet,
    edit: Edit,
    call: u8,
    destination_fails: bool,
    kept: bool,
    order: u32,
}

fn decision(bytes: &[u8]) -> Decision {
    let mut reader = Reader(bytes);
    // The connection's state before and after.
    reader.bytes::<{ 2 * size_of::<Flow>() }>();
    let (packet, edit) = (packet(&mut reader), edit(&mut reader));
    assert_eq!(reader.bytes(), [0; 5], "the policy: virtual loss");
    let [call, destination_fails, kept] = reader.bytes();
    let order = reader.u32();
    let destination_fails = destination_fails != 0;
    Decision { packet, edit, call, destination_fails, kept: kept != 0, order }
}

#[test]
fn the_kernel_decides_as_the_machine_does_here() {
    if skip() {
        return;
    }
    for ipv6 in [false, true] {
        let settings = Settings { decisions_bytes: Some(1 << 23), ..Settings::default() };
        let bed = Testbed::new(ProxyMachine::Router, false, &settings);
        let ring = bed.datapath.decisions().expect("there");
        let connection = bed.connect(ipv6, true, "cubic");
        connection.while_sending(true, || {
            connection.wait_for_bytes(true, 2_000_000);
            mark_until_a_virtual_loss(&bed);
            connection.wait_for_bytes(true, 500_000);
        });
        let log = RefCell::new(Vec::new());
        let mut builder = RingBufferBuilder::new();
        builder
            .add(&ring, |bytes| {
                log.borrow_mut().push(decision(bytes));
                0
            })
            .expect("a ring");
        builder.build().expect("a ring").consume().expect("readable");
        let mut log = log.into_inner();
        // The two directions take turns at the lock, not at the ring.
        log.sort_by_key(|decision| decision.order);
        assert_the_same(&log);
        let counters = bed.datapath.counters().expect("readable");
        assert!(
            counters.virtual_losses == 1 && log.len() > 200,
            "{} decisions, {counters:?}",
            log.len()
        );
    }
}

fn assert_the_same(log: &[Decision]) {
    let policy = Policy::default();
    let mut flow = Flow::default();
    let mut super_packets = 0;
    for (at, decision) in log.iter().enumerate() {
        let from = if decision.call % 2 == 1 { Side::Host } else { Side::Far };
        let (kept, edit) = match decision.call {
            0 | 1 => flow.handle_syn(&policy, &decision.packet, from, decision.destination_fails),
            _ => (true, flow.handle_packet(&policy, &decision.packet, from)),
        };
        assert_eq!(
            (kept, edit),
            (decision.kept, decision.edit),
            "decision {at}: {:?}",
            decision.packet
        );
        super_packets += u32::from(decision.packet.payload_bytes > decision.packet.segment_bytes);
    }
    assert!(super_packets > 0, "no super-packet among {} decisions", log.len());
}

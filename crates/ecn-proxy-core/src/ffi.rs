//! Calls of the C functions, the only `unsafe` code of the crate.
#![expect(unsafe_code, reason = "the machine is C")]

use crate::data::{Edit, Packet, Policy, RawFlow};

// SAFETY: `c/ecn_proxy_core.c` defines all of them with these types; a test compares the layouts.
unsafe extern "C" {
    fn windlass_ecn_opens(
        flow: *mut RawFlow,
        policy: *const Policy,
        packet: *const Packet,
        from_host: u8,
        destination_fails: u8,
        edit: *mut Edit,
    ) -> i32;
    fn windlass_ecn_from_host(
        flow: *mut RawFlow,
        policy: *const Policy,
        packet: *const Packet,
        edit: *mut Edit,
    );
    fn windlass_ecn_to_host(
        flow: *mut RawFlow,
        policy: *const Policy,
        packet: *const Packet,
        edit: *mut Edit,
    );
    fn windlass_ecn_distrust(flow: *mut RawFlow, edit: *mut Edit);
    #[cfg(test)]
    fn windlass_ecn_update_checksum(checksum: u16, before: u16, after: u16) -> u16;
    #[cfg(test)]
    static windlass_ecn_layout: [u32; 27];
    #[cfg(test)]
    static windlass_ecn_layout_count: u32;
}

pub(crate) fn opens(
    flow: &mut RawFlow,
    policy: &Policy,
    packet: &Packet,
    from_host: bool,
    destination_fails: bool,
) -> (bool, Edit) {
    let mut edit = Edit::default();
    // SAFETY: the four structs are repr(C), of the C ones' layout (the test below), and live for
    // the call; every value of the fields that C writes is a valid one, since they are integers or
    // bit sets of the same width. C keeps no pointer.
    let keep = unsafe {
        windlass_ecn_opens(
            flow,
            policy,
            packet,
            from_host.into(),
            destination_fails.into(),
            &mut edit,
        )
    };
    (keep != 0, edit)
}

pub(crate) fn from_host(flow: &mut RawFlow, policy: &Policy, packet: &Packet) -> Edit {
    let mut edit = Edit::default();
    // SAFETY: as in `opens`.
    unsafe { windlass_ecn_from_host(flow, policy, packet, &mut edit) };
    edit
}

pub(crate) fn to_host(flow: &mut RawFlow, policy: &Policy, packet: &Packet) -> Edit {
    let mut edit = Edit::default();
    // SAFETY: as in `opens`.
    unsafe { windlass_ecn_to_host(flow, policy, packet, &mut edit) };
    edit
}

pub(crate) fn distrust(flow: &mut RawFlow) -> Edit {
    let mut edit = Edit::default();
    // SAFETY: as in `opens`.
    unsafe { windlass_ecn_distrust(flow, &mut edit) };
    edit
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Reply;
    use proptest::prelude::*;
    use std::mem::{offset_of, size_of};

    proptest! {
        #[test]
        fn c_and_rust_update_a_checksum_alike(checksum: u16, before: u16, after: u16) {
            // SAFETY: the function takes and returns integers.
            let c = unsafe { windlass_ecn_update_checksum(checksum, before, after) };
            let (before, after) = (before.to_be_bytes(), after.to_be_bytes());
            prop_assert_eq!(c, windlass_base::checksum::update(checksum, &before, &after));
        }
    }

    #[test]
    fn c_and_rust_agree_on_how_the_structs_lie_in_memory() {
        let reply = offset_of!(Edit, reply);
        let rust = [
            size_of::<RawFlow>(),
            offset_of!(RawFlow, isn),
            offset_of!(RawFlow, host_ack),
            offset_of!(RawFlow, far_window),
            offset_of!(RawFlow, notes),
            offset_of!(RawFlow, phase),
            offset_of!(RawFlow, held_acks),
            offset_of!(RawFlow, surplus),
            size_of::<Policy>(),
            offset_of!(Policy, keeps_asking),
            size_of::<Packet>(),
            offset_of!(Packet, segment_bytes),
            offset_of!(Packet, tsecr),
            offset_of!(Packet, window),
            offset_of!(Packet, mss),
            offset_of!(Packet, flags),
            offset_of!(Packet, block_count),
            offset_of!(Packet, blocks),
            size_of::<Edit>(),
            offset_of!(Edit, window),
            offset_of!(Edit, codepoint),
            offset_of!(Edit, reason),
            offset_of!(Edit, events),
            offset_of!(Edit, blocks),
            reply,
            reply + offset_of!(Reply, window),
            reply + offset_of!(Reply, timestamps),
        ];
        // SAFETY: constants of C, an array of as many elements as the other constant says.
        let (c, count) = unsafe { (windlass_ecn_layout, windlass_ecn_layout_count) };
        assert_eq!(count as usize, c.len());
        assert_eq!(c.map(|offset| offset as usize), rust);
    }
}

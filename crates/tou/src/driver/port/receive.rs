//! Receiving on a port: in the I/O thread, or in a thread that writes (`inline_receive`).

use super::{Port, PortState, Reactor};
use crate::driver::buffers::{BATCH, Buffers};
use crate::driver::icmp::{self, Cause, Undelivered};
use crate::driver::options;
use crate::driver::reactor;
use crate::driver::wakes::wake;
use crate::endpoint::Addresses;
use quinn_udp::RecvMeta;
use std::io::{ErrorKind, IoSliceMut};
use std::task::Waker;
use windlass_base::Ecn;

/// Bytes received before the thread wakes waiting readers.
const WAKE_BYTES: usize = 256 << 10;

/// Bytes received before the thread sends ACKs. One coalesced message (GRO) is as large, and also
/// causes one ACK.
const ANSWER_BYTES: usize = 64 << 10;

/// A call with fewer messages than requested has emptied the socket. True for recvmmsg; on other
/// systems quinn-udp receives one message per call.
const SHORT_IS_END: bool = cfg!(target_os = "linux");

impl Port {
    /// Receives until the socket is empty. ACKs are sent at the end and every [`ANSWER_BYTES`].
    /// Readers are woken at the end and every [`WAKE_BYTES`]: a context switch costs more than
    /// receiving a few datagrams.
    pub(super) fn receive(&self, buffers: &mut Buffers) {
        let (mut wakers, mut since_wake, mut unanswered) = (Vec::new(), 0, 0);
        loop {
            let messages = buffers.messages();
            let mut metas = [RecvMeta::default(); BATCH];
            let mut slices = buffers.slices();
            let (into, about) = (&mut slices[..messages], &mut metas[..messages]);
            match self.udp.recv((&self.socket).into(), into, about) {
                Ok(count) => {
                    let metas = &metas[..count];
                    // Datagrams that arrive from now on are a new event of the socket.
                    let end = SHORT_IS_END && count < messages;
                    since_wake += metas.iter().map(|meta| meta.len).sum::<usize>();
                    unanswered = self.take(&slices, metas, unanswered, end, &mut wakers);
                    buffers.note(metas);
                    if end {
                        return wake(&mut wakers);
                    }
                    if since_wake >= WAKE_BYTES {
                        wake(&mut wakers);
                        since_wake = 0;
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if unanswered > 0 {
                        self.change(&mut wakers, |_, _| {});
                    }
                    return wake(&mut wakers);
                }
                // A pending ICMP report (RFC 1122 §4.1.3.3). The next call receives again.
                Err(_) => self.take_errors(),
            }
        }
    }

    /// Passes datagrams to the endpoint. `unanswered` bytes of earlier calls wait for an ACK; at the
    /// `end` all bytes are answered. Returns the number of bytes that wait now.
    fn take(
        &self,
        slices: &[IoSliceMut<'_>],
        metas: &[RecvMeta],
        mut unanswered: usize,
        end: bool,
        wakers: &mut Vec<Waker>,
    ) -> usize {
        let mut state = self.lock();
        let now = reactor::now();
        for (bytes, meta) in slices.iter().zip(metas) {
            let ecn = Ecn::from_bits(meta.ecn.map_or(0, |ecn| ecn as u8));
            let bytes = &bytes[..meta.len];
            let from = Addresses { local: meta.dst_ip, peer: meta.addr };
            state.handle_datagrams(now, from, ecn, bytes, meta.stride);
            unanswered += meta.len;
            if unanswered >= ANSWER_BYTES {
                self.transmit(&mut state, now);
                unanswered = 0;
            }
        }
        self.grow_receive_buffer(&mut state);
        if end && unanswered > 0 {
            self.transmit(&mut state, now);
        }
        self.release(state, wakers);
        unanswered
    }

    /// Enlarges the receive buffer, where permitted, when many connections share it.
    fn grow_receive_buffer(&self, state: &mut PortState) {
        if let Some(bytes) = state.receive_buffer
            && bytes < options::SOCKET_BUFFER_MAX
            && state.endpoint.wanted_receive_buffer() > bytes as u64
        {
            let grown = options::force_receive_buffer(&self.socket, 2 * bytes);
            state.receive_buffer = grown.then_some(2 * bytes);
            if let Ok(room) = options::receive_payload(&self.socket, &self.udp) {
                state.endpoint.set_receive_buffer(room);
            }
        }
    }

    /// Handles the pending ICMP reports.
    pub(super) fn take_errors(&self) {
        while let Some(report) = icmp::receive(&self.socket) {
            let Some(Undelivered { addresses, cause, quoted }) = report else { continue };
            self.with(|state, now| match cause {
                Cause::Unreachable(error, errno) => {
                    state.fail_opening(addresses, (error, errno), &quoted);
                }
                Cause::TooBig(mtu) => state.endpoint.handle_too_big(now, addresses, mtu, &quoted),
            });
        }
    }

    /// Receives once in the thread of a continuous writer, mostly ACKs. If one call does not empty
    /// the socket, the I/O thread receives again.
    pub(super) fn poll_inline(&self, reactor: &Reactor) {
        // Another thread is receiving.
        let Some(mut buffers) = reactor.idle_buffers() else { return };
        let mut metas = [RecvMeta::default(); BATCH];
        let mut slices = buffers.slices();
        let Ok(count) = self.udp.recv((&self.socket).into(), &mut slices, &mut metas) else {
            return;
        };
        let mut wakers = Vec::new();
        let (unanswered, end) = (0, true);
        self.take(&slices, &metas[..count], unanswered, end, &mut wakers);
        drop(buffers);
        wake(&mut wakers);
        if !SHORT_IS_END || count == BATCH {
            self.lock().stop_inline_receive();
        }
    }
}

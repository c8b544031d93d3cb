//! What comes to a port.

use super::{Port, PortState, wake};
use crate::driver::buffers::{BATCH, Buffers};
use crate::driver::icmp::{self, Undelivered};
use crate::driver::options;
use crate::driver::reactor::{self, Reactor};
use quinn_udp::RecvMeta;
use std::io::{ErrorKind, IoSliceMut};
use std::task::Waker;
use windlass_base::Ecn;

/// Bytes that the thread takes before it wakes those who wait for them.
const WAKE_BYTES: usize = 256 << 10;

/// Bytes that the thread takes before it answers: as much as the system joins to one message where
/// it does (GRO), which brings one ACK as well.
const ANSWER_BYTES: usize = 64 << 10;

/// A call takes all there is and as many as asked for: recvmmsg; elsewhere quinn-udp takes one.
const SHORT_IS_END: bool = cfg!(target_os = "linux");

impl Port {
    /// Takes all that has come. It is answered at the end, or each [`ANSWER_BYTES`], and who waits
    /// for it is woken at the end, or each [`WAKE_BYTES`]: to switch to a reader costs more than to
    /// take some datagrams.
    pub(in crate::driver) fn receive(&self, buffers: &mut Buffers) {
        let (mut wakers, mut untold, mut unanswered) = (Vec::new(), 0, 0);
        loop {
            let messages = buffers.messages();
            let mut metas = [RecvMeta::default(); BATCH];
            let mut slices = buffers.slices();
            let (into, told) = (&mut slices[..messages], &mut metas[..messages]);
            match self.udp.recv((&self.socket).into(), into, told) {
                Ok(count) => {
                    let metas = &metas[..count];
                    // A call that is not full has found the end; what comes now is an event again.
                    let end = SHORT_IS_END && count < messages;
                    untold += metas.iter().map(|meta| meta.len).sum::<usize>();
                    unanswered = self.take(&slices, metas, unanswered, end, &mut wakers);
                    buffers.note(metas);
                    if end {
                        return wake(&mut wakers);
                    }
                    if untold >= WAKE_BYTES {
                        wake(&mut wakers);
                        untold = 0;
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if unanswered > 0 {
                        self.change(&mut wakers, |_, _| {});
                    }
                    return wake(&mut wakers);
                }
                // What an ICMP message left (RFC 1122 §4.1.3.3); the next call goes on.
                Err(_) => self.take_errors(),
            }
        }
    }

    /// Takes datagrams, of which `unanswered` bytes wait for an answer already; all of them get it at
    /// the end. Returns what waits now.
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
            state.endpoint.handle_datagrams(now, &meta.addr, ecn, bytes, meta.stride);
            unanswered += meta.len;
            if unanswered >= ANSWER_BYTES {
                self.pump(&mut state, now);
                unanswered = 0;
            }
        }
        self.grow_receive_buffer(&mut state);
        if end && unanswered > 0 {
            self.pump(&mut state, now);
        }
        self.release(state, wakers);
        unanswered
    }

    /// Many connections use the receive buffer: it gets larger where that is permitted.
    fn grow_receive_buffer(&self, state: &mut PortState) {
        if let Some(bytes) = state.receive_buffer
            && bytes < options::SOCKET_BUFFER_MAX
            && state.endpoint.wanted_receive_room() > bytes as u64
        {
            let grown = options::force_receive_buffer(&self.socket, 2 * bytes);
            state.receive_buffer = grown.then_some(2 * bytes);
            if let Ok(room) = options::receive_room(&self.socket, &self.udp) {
                state.endpoint.set_receive_room(room);
            }
        }
    }

    /// Errors that ICMP reported.
    pub(in crate::driver) fn take_errors(&self) {
        while let Some(report) = icmp::receive(&self.socket) {
            let Some(Undelivered { peer, error, errno, quoted }) = report else { continue };
            self.with(|state, _| {
                let endpoint = &mut state.endpoint;
                let failed = endpoint.handle_unreachable(peer, error, &quoted);
                if let Some(data) = failed.and_then(|id| endpoint.data_mut(id)) {
                    data.icmp_errno = Some(errno);
                }
            });
        }
    }

    /// Takes what has come in the thread of somebody who writes on and on: ACKs. Where there is more than a call
    /// takes, it is for the thread again.
    pub(in crate::driver) fn look(&self, reactor: &Reactor) {
        // Somebody receives just now.
        let Some(mut buffers) = reactor.idle_buffers() else { return };
        let mut metas = [RecvMeta::default(); BATCH];
        let mut slices = buffers.slices();
        let Ok(count) = self.udp.recv((&self.socket).into(), &mut slices, &mut metas) else {
            return;
        };
        let mut wakers = Vec::new();
        self.take(&slices, &metas[..count], 0, true, &mut wakers);
        drop(buffers);
        wake(&mut wakers);
        if !SHORT_IS_END || count == BATCH {
            self.lock().leave_to_reactor();
        }
    }
}

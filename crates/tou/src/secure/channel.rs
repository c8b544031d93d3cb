//! The two directions of a secured connection, without I/O.

use super::Error;
use super::keys::KeySchedule;
use super::output::Output;
use super::record::{
    ALERT, APPLICATION_DATA, HANDSHAKE, HEADER_LEN, OVERHEAD, Opener, PAYLOAD_MAX, RECORD_MAX,
    Sealer, parse_header,
};
use rustls::{AlertDescription, ExtractedSecrets};
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use windlass_identity::PublicKey;

/// Room that data leaves unused, so that a key update and close_notify always fit.
const RESERVE: usize = 64;
/// The least room, in bytes of the stream below, that [`Sender::seal`] can use.
pub(super) const ROOM_MIN: usize = RESERVE + OVERHEAD + 1;
/// Bytes of records beside their payload that [`Sender::seal_to`] may need for `bytes` of payload.
pub(super) const fn overhead_of(bytes: usize) -> usize {
    RESERVE + bytes.div_ceil(PAYLOAD_MAX) * OVERHEAD
}

/// The largest input buffer: whole records, so that a bulk stream leaves no part of one behind.
const INPUT_MAX: usize = 4 * RECORD_MAX;
/// The input buffer of a stream with little data.
const INPUT_MIN: usize = 4096;

/// Handshake messages after the handshake (RFC 8446, section 4.6).
const NEW_SESSION_TICKET: u8 = 4;
const KEY_UPDATE: u8 = 24;
/// A KeyUpdate that asks for none in return.
const OWN_KEY_UPDATE: [u8; 5] = [KEY_UPDATE, 0, 0, 1, 0];
/// Alert levels (section 6).
const WARNING: u8 = 1;
const FATAL: u8 = 2;

/// State that both directions of a connection share.
struct Shared {
    keys: Mutex<KeySchedule>,
    /// The peer asked for a key update.
    update_requested: AtomicBool,
}

impl Shared {
    fn with_keys<T>(&self, derive: impl FnOnce(&mut KeySchedule) -> T) -> T {
        derive(&mut self.keys.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The directions of a connection whose handshake has succeeded. `received` arrived
/// behind it.
pub(super) fn channel(
    secrets: ExtractedSecrets,
    keys: KeySchedule,
    own: PublicKey,
    received: &[u8],
) -> Result<(Sender, Receiver), Error> {
    let record_limit = keys.record_limit();
    let shared = Arc::new(Shared { keys: Mutex::new(keys), update_requested: false.into() });
    let sealer = Sealer::new(secrets.tx)?;
    let sender = Sender { sealer, record_limit, shared: Arc::clone(&shared), is_closed: false };
    let opener = Opener::new(secrets.rx)?;
    let receiver = Receiver {
        opener,
        shared,
        own,
        input: received.to_vec(),
        arrived: 0..received.len(),
        plain: 0..0,
        is_ended: false,
        fault: None,
    };
    Ok((sender, receiver))
}

/// The sending direction: turns bytes into records.
pub struct Sender {
    sealer: Sealer,
    record_limit: u64,
    shared: Arc<Shared>,
    is_closed: bool,
}

impl Sender {
    /// Appends records with the first of `bytes` to `out`, at most `room` bytes of records. Returns
    /// the number of bytes taken: some, if `room` is at least 87.
    ///
    /// # Errors
    /// [`Error::Protocol`] if no further keys can be derived.
    pub fn seal(&mut self, bytes: &[u8], room: usize, out: &mut Vec<u8>) -> Result<usize, Error> {
        let (taken, sealed) = self.seal_to(bytes, room, out);
        sealed.map(|()| taken)
    }

    /// As [`Sender::seal`], to any output. Also returns the number of bytes taken before an error.
    pub(super) fn seal_to(
        &mut self,
        bytes: &[u8],
        mut room: usize,
        out: &mut impl Output,
    ) -> (usize, Result<(), Error>) {
        let mut taken = 0;
        while taken < bytes.len() && room >= ROOM_MIN && !self.is_closed {
            // RFC 8446, section 5.1: a record holds 2^14 bytes at most.
            let most = PAYLOAD_MAX.min(room - RESERVE - OVERHEAD);
            let payload = &bytes[taken..][..most.min(bytes.len() - taken)];
            let update = match self.update_key_if_due(out) {
                Ok(len) => len,
                Err(error) => return (taken, Err(error)),
            };
            room -= update + out.seal(&mut self.sealer, APPLICATION_DATA, payload);
            taken += payload.len();
        }
        (taken, Ok(()))
    }

    /// Appends close_notify to `out`, the end of this direction. It fits into the room that
    /// [`Sender::seal`] leaves. Nothing can be sealed afterwards.
    pub fn close(&mut self, out: &mut Vec<u8>) {
        self.alert(WARNING, AlertDescription::CloseNotify, out);
    }

    /// Whether this direction has ended.
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Appends the alert for `error` to `out` if the peer caused it, the end of this direction.
    pub fn fail(&mut self, error: &Error, out: &mut Vec<u8>) {
        if let Some(alert) = error.alert() {
            self.alert(FATAL, alert, out);
        }
    }

    #[cfg(test)]
    pub(super) fn set_record_limit(&mut self, records: u64) {
        self.record_limit = records;
    }

    fn alert(&mut self, level: u8, alert: AlertDescription, out: &mut Vec<u8>) {
        if !self.is_closed {
            self.is_closed = true;
            self.sealer.seal(ALERT, &[level, alert.into()], out);
        }
    }

    /// Replaces the key if the peer has asked for it, or after as many records as one key may seal
    /// (RFC 8446, section 5.5). Returns the bytes that this adds to `out`.
    fn update_key_if_due(&mut self, out: &mut impl Output) -> Result<usize, Error> {
        let requested = self.shared.update_requested.swap(false, Ordering::Relaxed);
        if !requested && self.sealer.records() < self.record_limit {
            return Ok(0);
        }
        // RFC 8446, section 4.6.3: the KeyUpdate is the last record with the old key.
        let len = out.seal(&mut self.sealer, HANDSHAKE, &OWN_KEY_UPDATE);
        self.sealer = self.shared.with_keys(KeySchedule::next_sealer)?;
        Ok(len)
    }
}

/// The receiving direction: turns records into bytes.
pub struct Receiver {
    opener: Opener,
    shared: Arc<Shared>,
    own: PublicKey,
    input: Vec<u8>,
    /// The part of `input` with records that were not opened yet.
    arrived: Range<usize>,
    /// The part of `input` with bytes for the application.
    plain: Range<usize>,
    is_ended: bool,
    /// Why no further record is opened.
    fault: Option<Error>,
}

impl Receiver {
    /// Reads bytes of the application, of several records if they are there. `Some(0)` is the end
    /// of the direction, or of an empty `buffer`. `None`: more input is needed.
    ///
    /// # Errors
    /// [`Error::Forged`], [`Error::Oversized`], [`Error::Protocol`], [`Error::Alert`] or
    /// [`Error::Refused`], from then on in each call. Bytes before the fault are read first.
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, Error> {
        let mut taken = 0;
        while taken < buffer.len() {
            let plain = &self.input[self.plain.clone()];
            if plain.is_empty() {
                match self.open_next() {
                    Ok(true) => continue,
                    Ok(false) => break,
                    // The next call returns the error.
                    Err(_) if taken > 0 => break,
                    Err(error) => return Err(error),
                }
            }
            let len = plain.len().min(buffer.len() - taken);
            buffer[taken..taken + len].copy_from_slice(&plain[..len]);
            self.plain.start += len;
            taken += len;
        }
        Ok((taken > 0 || self.is_ended || buffer.is_empty()).then_some(taken))
    }

    /// Opens records until there are bytes for the application, or the end. False if more input is
    /// needed.
    ///
    /// # Errors
    /// As [`Receiver::read`].
    pub fn prepare(&mut self) -> Result<bool, Error> {
        while !self.has_plain() && !self.is_ended {
            if !self.open_next()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Where to put input when [`Receiver::prepare`] has returned false. The buffer grows for a
    /// stream that fills it.
    pub fn space(&mut self) -> &mut [u8] {
        if self.plain.is_empty() {
            // Part of a record, or nothing.
            self.input.copy_within(self.arrived.clone(), 0);
            self.arrived = 0..self.arrived.len();
            self.plain = 0..0;
        }
        if self.arrived.end == self.input.len() {
            let wanted = (self.input.len() * 4).clamp(INPUT_MIN, INPUT_MAX);
            self.input.resize(wanted.max(self.input.len()), 0);
        }
        &mut self.input[self.arrived.end..]
    }

    /// As [`Receiver::space`], but room for the rest of the record that has arrived in part, and for
    /// no byte of the next one.
    pub(super) fn space_in_record(&mut self) -> &mut [u8] {
        let arrived = &self.input[self.arrived.clone()];
        // A malformed header is reported when the record is opened.
        let record = parse_header(arrived).ok().flatten().map_or(HEADER_LEN, |(_, len)| len);
        let missing = record.saturating_sub(arrived.len()).max(1);
        let space = self.space();
        let len = missing.min(space.len());
        &mut space[..len]
    }

    /// Opens `records` in place, which contain whole records that have just arrived; see
    /// [`Receiver::whole_records`]. Their content is moved to the start of `records`. Returns its
    /// length, which may be 0. The bytes behind it have no meaning.
    ///
    /// # Errors
    /// As [`Receiver::read`].
    ///
    /// # Panics
    /// If the receiver is not [empty](Receiver::is_empty).
    pub fn open_in_place(&mut self, records: &mut [u8]) -> Result<usize, Error> {
        assert!(self.is_empty(), "earlier bytes are read first");
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let (mut end, mut start) = (0, 0);
        while start < records.len() && !self.is_ended {
            match self.open_at(&mut records[end..], start - end) {
                Ok((len, record_end)) => (end, start) = (end + len, end + record_end),
                // The next call returns the error.
                Err(error) if end > 0 => {
                    self.fault = Some(error);
                    break;
                }
                Err(error) => {
                    self.fault = Some(error.clone());
                    return Err(error);
                }
            }
        }
        Ok(end)
    }

    /// Bytes of the whole records at the start of `arrived`, the readable bytes of a ring; at most
    /// `most`. A record with a malformed header does not count.
    pub fn whole_records(arrived: [&[u8]; 2], most: usize) -> usize {
        let most = most.min(arrived[0].len() + arrived[1].len());
        let mut end = 0;
        while let Some(header) = header_at(arrived, end)
            && let Ok(Some((_, len))) = parse_header(&header)
            && end + len <= most
        {
            end += len;
        }
        end
    }

    /// Whether the receiver itself has no bytes, neither to open nor to read.
    pub fn is_empty(&self) -> bool {
        self.arrived.is_empty() && self.plain.is_empty()
    }

    /// The first `len` bytes of [`Receiver::space`] were filled.
    pub fn filled(&mut self, len: usize) {
        assert!(len <= self.input.len() - self.arrived.end);
        self.arrived.end += len;
    }

    /// Frees the buffer of a stream that has nothing to open or to read now.
    pub(super) fn release_buffer(&mut self) {
        if self.is_empty() && self.input.len() > INPUT_MIN {
            self.input = Vec::new();
            (self.arrived, self.plain) = (0..0, 0..0);
        }
    }

    /// Whether opened bytes wait to be read.
    pub(super) fn has_plain(&self) -> bool {
        !self.plain.is_empty()
    }

    /// Opens the next record. False if it is incomplete, or the direction has ended.
    fn open_next(&mut self) -> Result<bool, Error> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        self.try_open_next().inspect_err(|fault| self.fault = Some(fault.clone()))
    }

    fn try_open_next(&mut self) -> Result<bool, Error> {
        if self.is_ended {
            return Ok(false);
        }
        let records = &mut self.input[self.arrived.clone()];
        let Some((_, len)) = parse_header(records)?.filter(|(_, len)| *len <= records.len()) else {
            return Ok(false);
        };
        let opened = self.opener.open(&mut records[..len], 0)?;
        let content = self.arrived.start..self.arrived.start + opened.len;
        self.arrived.start += len;
        if opened.kind == APPLICATION_DATA {
            self.plain = content;
        } else {
            let content = self.input[content].to_vec();
            self.handle_control(opened.kind, &content)?;
        }
        Ok(true)
    }

    /// Opens the record of `bytes` that begins at `start`, and moves the application's bytes to the
    /// start of `bytes`. Returns their number, and where the record ended.
    fn open_at(&mut self, bytes: &mut [u8], start: usize) -> Result<(usize, usize), Error> {
        let record = &bytes[start..];
        let len = parse_header(record)?.map(|(_, len)| len).filter(|len| *len <= record.len());
        let end = start + len.ok_or_else(|| unexpected("an incomplete record"))?;
        let opened = self.opener.open(&mut bytes[..end], start)?;
        if opened.kind == APPLICATION_DATA {
            return Ok((opened.len, end));
        }
        self.handle_control(opened.kind, &bytes[..opened.len])?;
        Ok((0, end))
    }

    /// Handles the content of a record that has no bytes of the application.
    fn handle_control(&mut self, kind: u8, content: &[u8]) -> Result<(), Error> {
        match kind {
            ALERT => self.handle_alert(content),
            HANDSHAKE => self.handle_messages(content),
            _ => Err(unexpected("a record of an unexpected type")),
        }
    }

    /// Data after close_notify is ignored (RFC 8446, section 6.1).
    fn handle_alert(&mut self, content: &[u8]) -> Result<(), Error> {
        let &[_, alert] = content else {
            return Err(unexpected("a malformed alert"));
        };
        match AlertDescription::from(alert) {
            AlertDescription::CloseNotify => self.is_ended = true,
            // RFC 8446, section 6.1: close_notify follows it.
            AlertDescription::UserCanceled => {}
            alert => return Err(Error::of_alert(alert, self.own)),
        }
        Ok(())
    }

    /// Handles handshake messages. Messages that span records are not accepted: those that may
    /// come now are short.
    fn handle_messages(&mut self, content: &[u8]) -> Result<(), Error> {
        let mut messages = content;
        if messages.is_empty() {
            return Err(unexpected("an empty handshake record"));
        }
        while let Some((&[kind, a, b, c], rest)) = messages.split_first_chunk() {
            let len = u32::from_be_bytes([0, a, b, c]) as usize;
            let Some((message, rest)) = rest.split_at_checked(len) else { break };
            match (kind, message) {
                // The end of a record, because the next one has another key (section 5.1).
                (KEY_UPDATE, &[request @ 0..=1]) if rest.is_empty() => {
                    self.opener = self.shared.with_keys(KeySchedule::next_opener)?;
                    // RFC 8446, section 4.6.3: update_requested. The answer goes out with the next data.
                    if request == 1 {
                        self.shared.update_requested.store(true, Ordering::Relaxed);
                    }
                }
                // No tickets are used: every connection proves both keys.
                (NEW_SESSION_TICKET, _) => {}
                _ => return Err(unexpected("an unexpected handshake message")),
            }
            messages = rest;
        }
        if messages.is_empty() { Ok(()) } else { Err(unexpected("a handshake message in parts")) }
    }
}

/// The header of the record at `start`, which may be partly in each piece.
fn header_at([first, second]: [&[u8]; 2], start: usize) -> Option<[u8; HEADER_LEN]> {
    let mut header = [0; HEADER_LEN];
    for (i, byte) in header.iter_mut().enumerate() {
        let at = start + i;
        *byte = *first.get(at).or_else(|| second.get(at - first.len()))?;
    }
    Some(header)
}

fn unexpected(what: &str) -> Error {
    Error::Protocol(what.into())
}

impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").field("is_closed", &self.is_closed).finish_non_exhaustive()
    }
}

impl fmt::Debug for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").field("is_ended", &self.is_ended).finish_non_exhaustive()
    }
}

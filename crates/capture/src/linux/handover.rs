//! The device's way from the process inside the namespace to the one outside: over a socket pair.

use rustix::cmsg_space;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use std::io::{self, IoSlice, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// The bytes that come with a descriptor: a message of none would be the end of the stream.
const TOKEN: &[u8] = b"tun";
/// The longest error text.
const TEXT_LEN_MAX: usize = 4096;

/// Sends a descriptor.
pub(super) fn send(socket: &UnixStream, descriptor: BorrowedFd<'_>) -> io::Result<()> {
    let descriptors = [descriptor];
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&descriptors));
    sendmsg(socket, &[IoSlice::new(TOKEN)], &mut control, SendFlags::empty())?;
    Ok(())
}

/// Sends the reason why there is no descriptor.
pub(super) fn send_error(mut socket: &UnixStream, error: &io::Error) -> io::Result<()> {
    let text = error.to_string();
    socket.write_all(&text.as_bytes()[..text.len().min(TEXT_LEN_MAX)])
}

/// Receives the descriptor, or the error that the other end sent instead.
pub(super) fn receive(socket: &UnixStream) -> io::Result<OwnedFd> {
    let mut text = [0; TEXT_LEN_MAX];
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC;
    let len = recvmsg(socket, &mut [IoSliceMut::new(&mut text)], &mut control, flags)?.bytes;
    let mut descriptors = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    match descriptors.next() {
        Some(descriptor) => Ok(descriptor),
        None if len == 0 => Err(io::Error::other("the process in the namespace ended early")),
        None => Err(io::Error::other(String::from_utf8_lossy(&text[..len]).into_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::Read;
    use std::os::fd::AsFd;

    #[test]
    fn a_descriptor_arrives_and_works() {
        let (one, other) = UnixStream::pair().expect("a pair");
        let (reader, mut writer) = std::io::pipe().expect("a pipe");
        send(&one, reader.as_fd()).expect("sent");
        drop(reader);
        let mut received = File::from(receive(&other).expect("received"));
        writer.write_all(b"through").expect("open");
        drop(writer);
        let mut text = String::new();
        received.read_to_string(&mut text).expect("text");
        assert_eq!(text, "through");
    }

    #[test]
    fn an_error_arrives_as_its_text_and_an_early_end_as_such() {
        let (one, other) = UnixStream::pair().expect("a pair");
        send_error(&one, &io::Error::other("no device")).expect("sent");
        assert_eq!(receive(&other).expect_err("an error").to_string(), "no device");
        drop(one);
        assert!(receive(&other).expect_err("an error").to_string().contains("ended early"));
    }
}

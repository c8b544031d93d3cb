//! The control connection of a test: messages (`message`) with time limits.

use crate::error::Error;
use crate::message::{self, Message, MessageError, printable};
use std::cell::Cell;
use std::io::{self, ErrorKind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;
use windlass_tou::TouStream;

/// The longest wait for the next message of the peer.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(15);

/// An event that a test waits for.
pub(crate) enum Event {
    /// The connection with this index has ended.
    Ended(usize, io::Result<()>),
    /// The peer has sent a message, or the control connection has ended.
    Peer(Result<Message, MessageError>),
}

/// The control connection, and the queue of the events of a test.
pub(crate) struct Control {
    stream: TouStream,
    pub(crate) events: Receiver<Event>,
    pub(crate) event_sender: Sender<Event>,
    /// The peer sends no more messages.
    is_over: Cell<bool>,
}

impl Control {
    /// Reads the messages of the control connection from now on, in a thread of its own.
    pub(crate) fn new(stream: TouStream) -> Control {
        let (event_sender, events) = channel();
        let (mut from, sender) = (stream.clone(), event_sender.clone());
        thread::spawn(move || {
            loop {
                let message = message::read(&mut from);
                let ended = message.is_err();
                if sender.send(Event::Peer(message)).is_err() || ended {
                    return;
                }
            }
        });
        Control { stream, events, event_sender, is_over: Cell::new(false) }
    }

    pub(crate) fn send(&self, message: &Message) -> Result<(), Error> {
        let Err(error) = message::write(&mut &self.stream, message) else { return Ok(()) };
        let failure = Error::io("the control connection", &error);
        // The connection returns its error once, and the reading thread has received it.
        let elsewhere = error.kind() == ErrorKind::BrokenPipe && !self.is_over.get();
        let cause = elsewhere.then(|| self.receive().err()).flatten();
        Err(cause.unwrap_or(failure))
    }

    /// Waits for the next message.
    pub(crate) fn receive(&self) -> Result<Message, Error> {
        match self.events.recv_timeout(TIMEOUT) {
            Ok(Event::Peer(message)) => self.accept(message),
            Ok(Event::Ended(..)) => Err(Error::unexpected("the end of a connection")),
            Err(_) => Err(Error::new("the other end does not answer")),
        }
    }

    /// Ends this direction of the control connection, and waits a while for the end of the other.
    pub(crate) fn end(&self) {
        // All messages have been sent; an error changes no result.
        let _ = self.stream.finish(Some(TIMEOUT));
        while !self.is_over.get() {
            match self.events.recv_timeout(TIMEOUT) {
                Ok(Event::Peer(Ok(_)) | Event::Ended(..)) => {}
                Ok(Event::Peer(Err(_))) | Err(_) => self.is_over.set(true),
            }
        }
    }

    /// The message of an event, unless it is the peer's error.
    pub(crate) fn accept(&self, message: Result<Message, MessageError>) -> Result<Message, Error> {
        match message {
            Ok(Message::Error(why)) => {
                Err(Error::new(format!("the other end: {}", printable(&why))))
            }
            Ok(message) => Ok(message),
            Err(error) => {
                self.is_over.set(true);
                Err(Error::new(format!("the control connection: {error}")))
            }
        }
    }
}

//! The client of a test: it asks the server over the control connection (`control`), and then does its
//! part as `transfer` has it.

use crate::control::Control;
use crate::error::Error;
use crate::figures::Interval;
use crate::message::{self, Direction, Message, StreamHead, Test, VERSION};
use crate::open_streams::OpenStreams;
use crate::transfer::{Outcome, Run, TestStream};
use std::net::SocketAddr;
use std::time::Duration;
use windlass_tou::{Options, TouStream};

/// A test that the server has accepted, at the client.
pub struct Client {
    test: Test,
    peer: SocketAddr,
    control: Control,
    streams: Vec<TestStream>,
}

impl Client {
    /// Asks for the test over `control`, and opens its connections to the same address. `timeout` is
    /// the longest time to open one of them. `open_streams` gets each of them.
    ///
    /// # Errors
    /// If the server refuses the test or does not keep to the protocol, or a connection fails.
    pub fn open(
        control: TouStream,
        test: Test,
        options: &Options,
        timeout: Option<Duration>,
        open_streams: &OpenStreams,
    ) -> Result<Client, Error> {
        let peer = control.peer_addr().map_err(|error| Error::io("the server", &error))?;
        let control = Control::new(control);
        control.send(&Message::Test(test.clone()))?;
        if control.receive()? != Message::Ready {
            return Err(Error::unexpected("a message"));
        }
        let mut streams = Vec::new();
        for index in 0..test.streams {
            let stream = TouStream::connect_any(&[peer], timeout, options)
                .map_err(|error| Error::io(peer, &error))?;
            open_streams.add(&stream);
            let head = Message::Stream(StreamHead { version: VERSION, id: test.id.clone(), index });
            let head_len = message::write(&mut &stream, &head)
                .map_err(|error| Error::io(format!("connection {index}"), &error))?;
            streams.push(TestStream::new(stream, head_len as u64));
        }
        match control.receive()? {
            Message::Start => Ok(Client { test, peer, control, streams }),
            _ => Err(Error::unexpected("a message")),
        }
    }

    /// The server's address.
    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// The connections of the test, in the order of their index.
    pub fn streams(&self) -> &[TestStream] {
        &self.streams
    }

    /// Runs the test to its end. `on_interval` gets the figures of this end after each `interval`; an
    /// error of it ends the test, and the server receives its text.
    ///
    /// # Errors
    /// If the test fails at either end. Its connections are then reset.
    pub fn run(
        &self,
        interval: Duration,
        on_interval: impl FnMut(&Interval) -> Result<(), Error>,
    ) -> Result<Outcome, Error> {
        let sends = self.test.direction == Direction::Up;
        let Client { test, control, streams, .. } = self;
        Run { test, sends, control, streams, interval }.to_its_end(on_interval)
    }

    /// Ends the control connection. Waits for the server's end, for half a minute at most.
    pub fn end(&self) {
        self.control.end();
    }
}

//! docs/reference/tou-protocol.md shows a connection byte for byte. Two endpoints must write exactly
//! these bytes.

mod page;

use windlass_tcp::stream::Stream;
use windlass_tcp::{
    Config, Connection, Ecn, Flags, Options, Profile, SackBlocks, Segment, SeqNumber, Span, State,
    Time, Timestamps, cc,
};
use windlass_tou::wire;

/// The number of blocks on the page that belong to the connection. The others are separate segments.
const CONNECTION: usize = 7;

/// One end with its own clock, which shows `began` when the connection begins.
struct End {
    stream: Stream,
    began: Span,
}

impl End {
    fn new(open: fn(Config) -> Connection, began: Span) -> End {
        let newreno = cc::by_name("newreno").expect("a controller");
        let base = Profile::Rfc5681.config(1456, newreno);
        let config = base.with(|c| {
            c.ecn.enabled = true;
            c.buffers.receive = 1 << 20;
        });
        End { stream: Stream::new(open(config)), began }
    }

    fn clock(&self, since: Span) -> Time {
        Time::ZERO + self.began + since
    }

    fn take(&mut self, since: Span, datagram: &[u8]) {
        let (segment, payload) = wire::parse(datagram).expect("a segment");
        let now = self.clock(since);
        let payload = &datagram[payload..];
        self.stream.handle_segment(now, &segment, payload, Ecn::NotEct, &mut ());
    }

    /// The datagrams to send now.
    fn sends(&mut self, since: Span) -> Vec<Vec<u8>> {
        let (now, mut datagrams) = (self.clock(since), Vec::new());
        while let Some((run, payload)) = self.stream.poll_transmit(now, 1, &mut ()) {
            datagrams.push([&written(&run.first), payload[0], payload[1]].concat());
        }
        datagrams
    }

    /// The application of the page's client: sends one word and closes.
    fn speak(&mut self, since: Span) {
        if self.stream.connection().state() == State::Established {
            assert_eq!(self.stream.write(b"hello"), Ok(5));
            let now = self.clock(since);
            self.stream.connection_mut().close(now);
        }
    }

    /// The application of the page's server: reads everything and closes.
    fn listen(&mut self, since: Span) {
        let mut buffer = [0; 16];
        if self.stream.connection().peer_closed() && self.stream.read(&mut buffer) == Ok(5) {
            assert_eq!(&buffer[..5], b"hello");
            let now = self.clock(since);
            self.stream.connection_mut().close(now);
        }
    }
}

/// The datagrams of the page's connection as these two ends write them, with 10 ms delay each way.
fn conversation() -> Vec<Vec<u8>> {
    let connect = |config| Connection::connect(config, Time::ZERO, SeqNumber(0x1a2b_3c4d));
    let listen = |config| Connection::listen(config, SeqNumber(0x5e6f_7081));
    let mut client = End::new(connect, Span::from_millis(100_000));
    let mut server = End::new(listen, Span::from_millis(7_000_000));
    let (mut since, mut all) = (Span::ZERO, Vec::new());
    let mut on_the_way = client.sends(since);
    while !on_the_way.is_empty() {
        since += Span::from_millis(10);
        on_the_way.iter().for_each(|datagram| server.take(since, datagram));
        all.append(&mut on_the_way);
        let mut answers = server.sends(since);
        server.listen(since);
        answers.append(&mut server.sends(since));
        since += Span::from_millis(10);
        answers.iter().for_each(|datagram| client.take(since, datagram));
        all.append(&mut answers);
        on_the_way = client.sends(since);
        client.speak(since);
        on_the_way.append(&mut client.sends(since));
    }
    assert_eq!(client.stream.connection().state(), State::TimeWait);
    assert_eq!(server.stream.connection().state(), State::Closed);
    all
}

#[test]
fn two_ends_write_the_connection_that_the_page_shows() {
    let all = conversation();
    assert_eq!(all, page::datagrams()[..CONNECTION]);
}

#[test]
fn the_other_segments_of_the_page_are_what_it_says() {
    let page = page::datagrams();
    let [.., hole, reset] = &page[..] else { panic!("they stand last") };
    let (data, _) = wire::parse(&page[3]).expect("the data of the connection");
    let mut sack = SackBlocks::default();
    sack.push(data.seq.at(2 * 1444), data.seq.at(3 * 1444));
    let timestamps = Some(Timestamps { value: 7_000_030, echo_reply: 100_020 });
    let expected = Segment {
        seq: data.ack,
        ack: data.seq.at(1444),
        flags: Flags::ACK,
        window: 0x7fd2,
        options: Options { timestamps, sack, ..Options::default() },
        payload_len: 0,
    };
    assert_eq!(wire::parse(hole).expect("a segment").0, expected);
    assert_eq!(written(&expected), *hole);
    assert_eq!(written(&data.reset_reply().expect("it is no reset")), *reset);
}

fn written(segment: &Segment) -> Vec<u8> {
    let mut header = [0; wire::MAX_HEADER_LEN];
    let len = wire::emit(segment, &mut header);
    header[..len].to_vec()
}

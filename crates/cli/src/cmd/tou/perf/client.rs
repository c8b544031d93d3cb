//! `windlass tou perf client`.

use super::super::args::PerfClient;
use super::super::live::OpenStreams;
use super::super::{address, settings};
use super::live::{self, PerfPanels};
use super::message::{self, Direction, Limit, Message, StreamHead, Test, VERSION};
use super::print;
use super::trace::Trace;
use super::transfer::{Carrier, KEEP_ALIVE, Link, Outcome, Run, unexpected};
use crate::failure::{self, Failure};
use crate::live::Live;
use crate::{interrupt, stdout};
use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;
use std::time::Duration;
use windlass_base::Span;
use windlass_tou::Options;

/// Without `--time` and `--bytes`.
const DEFAULT_TIME: Span = Span::from_secs(10);

/// Does what the arguments say.
pub(crate) fn main(args: &PerfClient) -> Result<(), Failure> {
    if args.live {
        crate::live::check()?;
    }
    let options = Options { keep_alive: Some(KEEP_ALIVE), ..settings::options(&args.how)? };
    let test = test(args)?;
    let trace = args.trace.as_deref().map(|path| Trace::create(path, std(args.trace_interval)));
    let trace = trace.transpose()?;
    let open_streams = OpenStreams::default();
    let watched = open_streams.clone();
    interrupt::end_with(move || {
        watched.abort();
        failure::error("interrupted");
        130
    });
    let control = address::connect(&args.server.resolve(args.family)?, args.timeout, &options)?;
    open_streams.add(&control);
    let peer = control.peer_addr().map_err(|error| Failure::io("the server", &error))?;
    let link = Link::new(control);
    let carriers = open(&link, &test, peer, args.timeout, &options, &open_streams)?;
    let outcome = run(args, &test, &link, &carriers, peer, trace);
    link.end();
    outcome
}

fn std(span: Span) -> Duration {
    Duration::from_nanos(span.as_nanos())
}

fn test(args: &PerfClient) -> Result<Test, Failure> {
    let limit = match args.bytes {
        Some(bytes) => Limit::Bytes(bytes),
        None => Limit::TimeMs(args.time.unwrap_or(DEFAULT_TIME).as_nanos().div_ceil(1_000_000)),
    };
    let direction = if args.reverse { Direction::Down } else { Direction::Up };
    let test = Test {
        version: VERSION,
        id: random_id(),
        direction,
        streams: args.parallel,
        limit,
        omit_ms: args.omit.map_or(0, |omit| omit.as_nanos().div_ceil(1_000_000)),
        controller: args.how.cc.clone(),
    };
    test.check().map_err(Failure::Input)?;
    Ok(test)
}

/// The keys of std's hash maps are the system's randomness.
fn random_id() -> String {
    let random = || RandomState::new().hash_one(std::process::id());
    format!("{:016x}{:016x}", random(), random())
}

/// Asks for the test and opens its connections.
fn open(
    link: &Link,
    test: &Test,
    peer: SocketAddr,
    timeout: Option<Span>,
    options: &Options,
    open_streams: &OpenStreams,
) -> Result<Vec<Carrier>, Failure> {
    link.say(&Message::Test(test.clone()))?;
    if link.hear()? != Message::Ready {
        return Err(unexpected("a message"));
    }
    let mut carriers = Vec::new();
    for index in 0..test.streams {
        let stream = address::connect(&[peer], timeout, options)?;
        open_streams.add(&stream);
        let head = Message::Stream(StreamHead { version: VERSION, id: test.id.clone(), index });
        let said = message::write(&mut &stream, &head);
        let head = said.map_err(|error| Failure::io(format!("connection {index}"), &error))?;
        carriers.push(Carrier::new(stream, head as u64));
    }
    match link.hear()? {
        Message::Start => Ok(carriers),
        _ => Err(unexpected("a message")),
    }
}

fn run(
    args: &PerfClient,
    test: &Test,
    link: &Link,
    carriers: &[Carrier],
    peer: SocketAddr,
    trace: Option<Trace>,
) -> Result<(), Failure> {
    let sends = test.direction == Direction::Up;
    let traced = || carriers.iter().map(|carrier| (carrier.stream.clone(), carrier.head)).collect();
    let tracing = trace.map(|trace| trace.begin(traced()));
    let mut intervals = Vec::new();
    let view = args.live.then(|| Live::start(PerfPanels::new(test, peer))).transpose()?;
    let interval = if args.live { live::INTERVAL } else { std(args.interval) };
    let run = Run { test, sends, link, carriers, interval };
    let outcome: Result<Outcome, Failure> = run.to_its_end(|interval| {
        if let Some(view) = &view {
            view.show(interval.clone());
            return Ok(());
        }
        if args.json {
            intervals.push(interval.clone());
            return Ok(());
        }
        stdout::line(&print::line(interval, sends))
    });
    drop(view);
    // The samples of a test that failed are kept too.
    let traced = tracing.map_or(Ok(()), |tracing| tracing.finish());
    let outcome = outcome?;
    traced?;
    match args.json {
        true => stdout::line(&print::json(test, peer, sends, &intervals, &outcome)),
        false => stdout::line(&print::summary(&outcome, sends)),
    }
}

//! `windlass tou perf client`.

use super::super::{address, settings};
use super::args::PerfClient;
use super::live::{self, PerfPanels};
use super::print;
use super::trace::Trace;
use crate::failure::{self, Failure};
use crate::live::Live;
use crate::{interrupt, stdout};
use std::time::Duration;
use windlass_base::Span;
use windlass_tou::Options;
use windlass_tou_perf::{
    Client, Direction, Error, Interval, KEEP_ALIVE, Limit, OpenStreams, Test, TestStream,
};

/// Without `--time` and `--bytes`.
const DEFAULT_TIME: Span = Span::from_secs(10);

/// Runs `windlass tou perf client`.
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
    let timeout = args.timeout.map(std);
    let client = Client::open(control, test.clone(), &options, timeout, &open_streams)?;
    let outcome = run(args, &test, &client, trace);
    client.end();
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
    let omit_ms = args.omit.map_or(0, |omit| omit.as_nanos().div_ceil(1_000_000));
    Test::new(direction, args.parallel, limit, omit_ms, args.how.cc.clone()).map_err(Failure::Input)
}

fn run(
    args: &PerfClient,
    test: &Test,
    client: &Client,
    trace: Option<Trace>,
) -> Result<(), Failure> {
    let sends = test.direction == Direction::Up;
    let peer = client.peer();
    let samplers = || client.streams().iter().map(TestStream::sampler).collect::<Vec<_>>();
    let tracing = trace.map(|trace| trace.begin(samplers()));
    let mut intervals = Vec::new();
    let view = args.live.then(|| Live::start(PerfPanels::new(test, peer))).transpose()?;
    let every = if args.live { live::INTERVAL } else { std(args.interval) };
    let mut output_failure = None;
    let outcome = client.run(every, |interval: &Interval| {
        if let Some(view) = &view {
            view.show(interval.clone());
        } else if args.json {
            intervals.push(interval.clone());
        } else if let Err(failure) = stdout::line(&print::line(interval, sends)) {
            let why = match &failure {
                Failure::Work(why) | Failure::Input(why) => why.as_str(),
                Failure::ReaderGone => "its output is closed",
            };
            let error = Error::new(why);
            output_failure = Some(failure);
            return Err(error);
        }
        Ok(())
    });
    drop(view);
    // The samples of a test that failed are kept too.
    let traced = tracing.map_or(Ok(()), |tracing| tracing.finish());
    let outcome = outcome.map_err(|error| output_failure.unwrap_or_else(|| error.into()))?;
    traced?;
    match args.json {
        true => stdout::line(&print::json(test, peer, sends, &intervals, &outcome)),
        false => stdout::line(&print::summary(&outcome, sends)),
    }
}

//! `windlass tou perf server`.

use super::super::{print::listening, settings};
use super::args::PerfServer;
use super::print;
use crate::failure::{self, Failure};
use crate::value::Local;
use crate::{interrupt, registry, stdout};
use std::sync::mpsc::Receiver;
use windlass_tou::Options;
use windlass_tou_perf::{
    BACKLOG, Controllers, Direction, FinishedTest, Interval, KEEP_ALIVE, Server,
};

/// Serves tests until a signal arrives, or a single test with `--one-off`.
pub(crate) fn main(args: &PerfServer) -> Result<(), Failure> {
    let options = Options {
        ecn: true,
        keep_alive: Some(KEEP_ALIVE),
        backlog: BACKLOG,
        ..settings::path_options(&args.path)?
    };
    let profile = args.path.profile;
    let controllers = Controllers {
        names: registry::controller_names(),
        make: Box::new(move |name| settings::controller(profile, name)),
    };
    let server = Server::new(controllers, |peer, why| failure::error(format!("{peer}: {why}")));
    let open_streams = server.open_streams();
    let exit_status = 0;
    interrupt::end_with(move || {
        open_streams.abort();
        exit_status
    });
    let listener = Local { address: args.bind, port: args.port }.listen(args.family, &options)?;
    let local = listener.local_addr().map_err(|error| Failure::io("listen", &error))?;
    listening(local, args.json);
    report_all(&server.serve(listener), args)
}

fn report_all(finished: &Receiver<FinishedTest>, args: &PerfServer) -> Result<(), Failure> {
    for FinishedTest { peer, test, result } in finished {
        let sends = test.direction == Direction::Down;
        match result {
            Ok(outcome) if args.json => {
                // Only the client collects intervals.
                let no_intervals: &[Interval] = &[];
                stdout::line(&print::json(&test, peer, sends, no_intervals, &outcome))?;
            }
            Ok(outcome) => {
                stdout::line(&print::announcement(&test, peer))?;
                stdout::line(&print::summary(&outcome, sends))?;
            }
            Err(error) if args.one_off => return Err(error.into()),
            Err(error) => failure::error(format!("{peer}: {error}")),
        }
        if args.one_off {
            return Ok(());
        }
    }
    Err(Failure::Work("the port no longer accepts connections".to_owned()))
}

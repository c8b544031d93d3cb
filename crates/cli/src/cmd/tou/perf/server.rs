//! `windlass tou perf server`.

use super::super::{print::listening, settings};
use super::args::PerfServer;
use super::print;
use crate::failure::{self, Failure};
use crate::value::Local;
use crate::{interrupt, registry, stdout};
use std::sync::mpsc::Receiver;
use windlass_tou::Options;
use windlass_tou_perf::{BACKLOG, Controllers, Direction, FinishedTest, KEEP_ALIVE, Server};

/// Serves until a signal comes, or one test.
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
    interrupt::end_with(move || {
        open_streams.abort();
        0
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
                stdout::line(&print::json(&test, peer, sends, &[], &outcome))?;
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
    Err(Failure::Work("the port takes no connections any more".to_owned()))
}

//! The programs of TCP applications, one a file: when each opens connections, asks and writes.
//!
//! A program does no I/O. Each call may leave orders, which the host ([`Hosts`](crate::host::Hosts))
//! carries out: times at which it wants to be called again, and actions on connections.

mod arriving;
mod asking;
mod limited;
mod pages;
mod requests;
mod single;
mod video;

use crate::model::TcpApp;
use std::collections::VecDeque;
use std::fmt;
use windlass_base::{Rng, Sketch, Time};
use windlass_traffic::video as video_figures;

/// The next steps of an application.
pub(super) trait Program: fmt::Debug {
    /// The flow's time has come.
    fn start(&mut self, now: Time, orders: &mut Orders);

    /// The application is to write nothing more.
    fn stop(&mut self, now: Time, orders: &mut Orders);

    /// A time of [`Orders::wake_at`] has come.
    fn wake(&mut self, now: Time, orders: &mut Orders) {
        let _ = (now, orders);
    }

    /// The connection of an [`Action::Open`] has this number.
    fn opened(&mut self, connection: u32) {
        let _ = connection;
    }

    /// The response to the request on a connection has arrived whole.
    fn response_done(&mut self, now: Time, connection: u32, orders: &mut Orders) {
        let _ = (now, connection, orders);
    }

    /// All data of a connection have arrived, or it has failed.
    fn connection_done(&mut self, now: Time, connection: u32, orders: &mut Orders);

    /// Its own figures up to the end of the run.
    fn figures(&self, end: Time) -> Option<Figures> {
        let _ = end;
        None
    }

    /// Every flow of the barrier has reached it.
    fn barrier_passed(&mut self, now: Time, orders: &mut Orders) {
        let _ = (now, orders);
    }
}

/// The task of the host after a program was called.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// It opens a connection.
    Open(Carries),
    /// It sends a request on a connection that carries exchanges.
    Request {
        /// The connection.
        connection: u32,
        /// Request and response.
        exchange: Exchange,
    },
    /// It writes more on a connection of [`Carries::Writes`].
    Write {
        /// The connection.
        connection: u32,
        /// How many bytes.
        bytes: u64,
    },
    /// It writes nothing more on a connection, and closes it. A connection that is over stays so.
    Close {
        /// The connection.
        connection: u32,
    },
}

/// The data of a connection.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Carries {
    /// So many bytes and the FIN; `None`: no end.
    Stream(Option<u64>),
    /// So many bytes, and then those of each [`Action::Write`].
    Writes(u64),
    /// Requests of the receiver, which opens the connection, and the sender's responses.
    Exchanges(Exchange),
}

/// A request of the receiver and its response, in bytes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Exchange {
    /// Bytes of the request, at least one.
    pub(crate) request: u64,
    /// Bytes of the response, at least one.
    pub(crate) response: u64,
}

/// Figures of an application that its transfers alone do not show.
#[derive(Clone, Debug)]
pub(crate) enum Figures {
    /// The loads of pages.
    Pages(PageLoads),
    /// The quality of a video.
    Video(video_figures::Figures),
}

/// The loads of pages that began in the steady window.
#[derive(Clone, Debug, Default)]
pub(crate) struct PageLoads {
    /// From the request of the document to the last byte of the last object.
    pub(crate) times: Sketch,
    /// Loads of which a connection failed.
    pub(crate) failed: u64,
}

/// Orders of a program to its host.
#[derive(Debug)]
pub(super) struct Orders {
    /// The random numbers of the flow.
    pub(super) rng: Rng,
    pub(super) wakes: VecDeque<Time>,
    pub(super) actions: VecDeque<Action>,
    /// The program has reached its barrier, and waits for the other flows.
    pub(super) at_barrier: bool,
    /// The program has done all that it will ever do.
    pub(super) over: bool,
}

impl Orders {
    pub(super) fn new(rng: Rng) -> Orders {
        Orders {
            rng,
            wakes: VecDeque::new(),
            actions: VecDeque::new(),
            at_barrier: false,
            over: false,
        }
    }

    pub(super) fn wake_at(&mut self, time: Time) {
        self.wakes.push_back(time);
    }

    fn act(&mut self, action: Action) {
        self.actions.push_back(action);
    }
}

/// The program of a flow's application. Programs with draws take a seed of their own from `rng`.
pub(super) fn program(app: &TcpApp, steady_from: Time, rng: &mut Rng) -> Box<dyn Program> {
    match app {
        TcpApp::Bulk | TcpApp::Transfer { .. } | TcpApp::Repeated { .. } => {
            Box::new(single::Single::new(app))
        }
        TcpApp::Arriving { arrivals } => Box::new(arriving::Arriving::new(arrivals, rng)),
        TcpApp::Limited { bytes, interval } => Box::new(limited::Limited::new(*bytes, *interval)),
        TcpApp::Requests(requests) => Box::new(requests::Requests::new(requests, rng)),
        TcpApp::Pages(pages) => Box::new(pages::Pages::new(pages, steady_from, rng)),
        TcpApp::Video(player) => Box::new(video::Video::new(player, rng)),
    }
}

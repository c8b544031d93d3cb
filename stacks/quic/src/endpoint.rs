//! An end of a QUIC connection with its application, as an endpoint of the simulator.

use crate::app::App;
use crate::session::Session;
use bytes::{Bytes, BytesMut};
use std::time::{Duration, Instant};
use windlass_base::{Span, Time};
use windlass_sim::endpoint::{
    Datagram, Endpoint, EndpointEvent, EndpointParams, EndpointStatus, Transmit,
};

/// An end of a flow: a [`Session`] and the application on it.
#[derive(Debug)]
pub struct QuicEndpoint<S> {
    session: S,
    app: App,
    opens: bool,
    /// The instant that stands for the beginning of the run.
    origin: Instant,
}

impl<S: Session> QuicEndpoint<S> {
    /// The end with these parameters on this session.
    pub fn new(params: &EndpointParams, session: S) -> QuicEndpoint<S> {
        QuicEndpoint {
            session,
            app: App::new(params),
            opens: params.opens,
            // Sessions see only differences from it, which are the run's.
            origin: Instant::now(),
        }
    }

    fn instant(&self, time: Time) -> Instant {
        self.origin + Duration::from_nanos(time.as_nanos())
    }

    fn time(&self, instant: Instant) -> Time {
        let since = instant.saturating_duration_since(self.origin).as_nanos();
        Time::ZERO + Span::from_nanos(u64::try_from(since).unwrap_or(u64::MAX))
    }
}

impl<S: Session> Endpoint for QuicEndpoint<S> {
    fn start(&mut self, now: Time) {
        if self.opens
            && let Err(reason) = self.session.connect(self.instant(now))
        {
            self.app.fail(reason);
        }
    }

    fn stop(&mut self, _: Time) {
        self.app.stop(&mut self.session);
    }

    fn handle_datagram(&mut self, now: Time, datagram: Datagram) {
        let payload = BytesMut::from(Bytes::from(datagram.payload));
        self.session.handle_datagram(self.instant(now), datagram.ecn, payload);
        self.app.run(now, &mut self.session);
    }

    fn handle_timeout(&mut self, now: Time) {
        self.session.handle_timeout(self.instant(now));
        self.app.run(now, &mut self.session);
    }

    fn poll_timeout(&mut self) -> Option<Time> {
        let session = self.session.poll_timeout().map(|due| self.time(due));
        session.into_iter().chain(self.app.poll_timeout()).min()
    }

    fn poll_transmit(&mut self, now: Time, payload: &mut Vec<u8>) -> Option<Transmit> {
        let transmit = self.session.poll_transmit(self.instant(now), payload)?;
        // A packet that was sent makes room for more data.
        self.app.run(now, &mut self.session);
        Some(transmit)
    }

    fn poll_event(&mut self) -> Option<EndpointEvent> {
        self.app.poll_event()
    }

    fn status(&self) -> EndpointStatus {
        self.session.status()
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        self.session.counters()
    }
}

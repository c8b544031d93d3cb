//! Writes what a TCP connection does as qlog, a format of traces that the IETF develops for QUIC
//! (draft-ietf-quic-qlog-main-schema, draft-ietf-quic-qlog-quic-events).
//!
//! A file is a JSON text sequence (RFC 7464): a header, then one record for each event. Windows and
//! round-trip times are the QUIC draft's `recovery_metrics_updated`, so that its tools can plot them.
//! Events that only TCP has are in a schema of their own; docs/reference/qlog.md lists them.
//!
//! ```
//! use windlass_base::Time;
//! use windlass_qlog::{ConnectionLog, Header, Vantage};
//! use windlass_tcp::cc::Cubic;
//! use windlass_tcp::{Connection, Profile, SeqNumber};
//!
//! let header = Header { title: "an example", vantage: Vantage::Client, start: Time::ZERO, clock: None };
//! let config = Profile::Linux.config(1460, std::sync::Arc::new(Cubic::default()));
//! let mut connection = Connection::connect(config, Time::ZERO, SeqNumber(1));
//! let mut log = ConnectionLog::begin(Vec::new(), &header, &connection);
//! let mut now = Some(Time::ZERO);
//! // The SYN gets no answer, so that the connection is given up.
//! while let Some(at) = now {
//!     connection.handle_timeout(at, &mut log);
//!     while connection.poll_transmit(at, 1, &mut log).is_some() {}
//!     now = connection.poll_timeout();
//! }
//! let bytes = log.finish()?;
//! let last = bytes.split(|byte| *byte == 0x1e).next_back().unwrap();
//! let event: serde_json::Value = serde_json::from_slice(last)?;
//! assert_eq!((&event["name"], &event["data"]["new"]), (&"tcp:state_updated".into(), &"closed".into()));
//! # Ok::<(), std::io::Error>(())
//! ```

mod connection;
mod folder;
mod log;
#[cfg(test)]
mod tests;

pub use connection::{ConnectionLog, Path};
pub use folder::{FileLog, Folder};
pub use log::{Header, Log, Vantage};

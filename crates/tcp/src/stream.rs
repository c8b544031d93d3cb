//! A connection with real bytes: send and receive buffers over [`Connection`](crate::Connection).

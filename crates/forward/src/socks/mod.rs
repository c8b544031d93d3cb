//! A SOCKS 5 server (RFC 1928) whose connections leave from a peer. Names are resolved there.

pub mod message;

use crate::duplex::{Duplex, drain, write_all};
use crate::forward::{Carrier, accept, report};
use crate::protocol::{Refusal, Request};
use message::{
    MESSAGE_MAX, NO_AUTHENTICATION, NO_METHOD, Reply, SocksError, SocksRequest, method_selection,
    parse_greeting, parse_request,
};
use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tracing::{debug, warn};
use windlass_identity::PublicKey;

/// The longest time for a program's greeting and request.
const REQUEST_MAX: Duration = Duration::from_secs(20);
/// How long a refused program may take to read the reply.
const REFUSED_MAX: Duration = Duration::from_secs(2);

/// Serves SOCKS 5 at a TCP port.
#[derive(Clone, Debug)]
pub struct Socks {
    /// The peer from which connections leave.
    pub peer: PublicKey,
    /// How connections reach the peer.
    pub carrier: Carrier,
}

impl Socks {
    /// Takes connections. Never returns.
    pub async fn run(self, listener: TcpListener) {
        accept(listener, move |near, from| {
            let socks = self.clone();
            async move {
                if let Err(error) = socks.serve(&near, from).await {
                    warn!(%from, "{error}");
                }
            }
        })
        .await;
    }

    async fn serve(&self, near: &TcpStream, from: SocketAddr) -> io::Result<()> {
        let negotiated = tokio::time::timeout(REQUEST_MAX, negotiate(near)).await;
        let negotiated = negotiated.map_err(|_| io::Error::from(ErrorKind::TimedOut))?;
        let SocksRequest { host, port, .. } = match negotiated? {
            Ok(request) if request.connect => request,
            Ok(_) => return refuse(near, Reply::CommandNotSupported).await,
            Err(reply) => return refuse(near, reply).await,
        };
        let request = Request::Connect { host, port };
        debug!(%from, %request, "connection");
        let far = match self.carrier.join(self.peer, &request).await {
            Ok(far) => far,
            Err(error) => {
                report(&error, from, &request);
                return refuse(near, reply_for(&error)).await;
            }
        };
        write_all(near, &Reply::Succeeded.encode()).await?;
        if let Err(error) = self.carrier.carry(near, self.peer, &far).await {
            debug!(%from, %request, "{error}");
        }
        Ok(())
    }
}

fn reply_for(error: &io::Error) -> Reply {
    match (Refusal::status_in(error), error.kind()) {
        (Some(status), _) => Reply::of_status(status),
        (None, ErrorKind::PermissionDenied) => Reply::NotAllowed,
        // A name or a port that cannot be sent to the peer.
        (None, ErrorKind::InvalidData) => Reply::Failure,
        (None, _) => Reply::NetworkUnreachable,
    }
}

/// Sends the reply and waits until the program has read it.
async fn refuse(near: &TcpStream, reply: Reply) -> io::Result<()> {
    write_all(near, &reply.encode()).await?;
    near.close()?;
    drain(near, REFUSED_MAX).await;
    Ok(())
}

/// Reads greeting and request. Returns the reply instead if there is nothing to connect to.
async fn negotiate(near: &TcpStream) -> io::Result<Result<SocksRequest, Reply>> {
    let mut buffer = Vec::with_capacity(MESSAGE_MAX);
    let without_authentication = read_message(near, &mut buffer, parse_greeting).await?;
    if !without_authentication {
        write_all(near, &method_selection(NO_METHOD)).await?;
        return Err(io::Error::new(
            ErrorKind::Unsupported,
            "the program insists on authentication, which this server does not have",
        ));
    }
    write_all(near, &method_selection(NO_AUTHENTICATION)).await?;
    match read_message(near, &mut buffer, parse_request).await {
        Ok(request) => Ok(Ok(request)),
        Err(error) => match error.get_ref().and_then(|inner| inner.downcast_ref()) {
            Some(SocksError::AddressType(_)) => Ok(Err(Reply::AddressTypeNotSupported)),
            _ => Err(error),
        },
    }
}

/// Reads until `parse` finds a message, and takes it out of the buffer. Bytes beyond the message are
/// left in the socket.
async fn read_message<T>(
    near: &TcpStream,
    buffer: &mut Vec<u8>,
    parse: impl Fn(&[u8]) -> Result<Option<(T, usize)>, SocksError>,
) -> io::Result<T> {
    loop {
        let parsed = parse(buffer);
        match parsed.map_err(|error| io::Error::new(ErrorKind::InvalidData, error))? {
            Some((message, len)) => {
                buffer.drain(..len);
                return Ok(message);
            }
            // Byte by byte, so that no data of the connection is taken with the request. The messages
            // are short.
            None => {
                let mut byte = [0];
                if poll_fn(|cx| near.poll_read(cx, &mut byte)).await? == 0 {
                    return Err(ErrorKind::UnexpectedEof.into());
                }
                buffer.push(byte[0]);
            }
        }
    }
}

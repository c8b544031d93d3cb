//! TCP connections to the first address of a name that answers (RFC 8305).

use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use windlass_base::Time;
use windlass_base::dial::Attempts;

/// Connects to one of the addresses of a name. The attempts that have not won are cancelled.
///
/// # Errors
/// That of [`Attempts::into_error`]. At the deadline attempts that still run have timed out.
pub(crate) async fn connect(
    addresses: impl IntoIterator<Item = SocketAddr>,
    deadline: Instant,
) -> io::Result<TcpStream> {
    let origin = Instant::now();
    let mut attempts = Attempts::new(addresses);
    let mut running = JoinSet::new();
    loop {
        let now = Time::from_nanos(origin.elapsed().as_nanos() as u64);
        while let Some(address) = attempts.poll_begin(now) {
            running.spawn(async move { (address, TcpStream::connect(address).await) });
        }
        if attempts.is_over() {
            return Err(attempts.into_error());
        }
        let begins = |at: Time| origin + Duration::from_nanos(at.as_nanos());
        let next = attempts.poll_timeout().map_or(deadline, begins).min(deadline);
        tokio::select! {
            Some(ended) = running.join_next() => match ended.map_err(io::Error::other)? {
                (_, Ok(stream)) => return Ok(stream),
                (address, Err(error)) => attempts.fail(address, error),
            },
            () = sleep_until(next) => {
                if deadline <= Instant::now() {
                    return Err(attempts.into_error());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::ErrorKind;
    use tokio::net::TcpListener;

    /// A listener whose queue is full: Linux ignores further SYNs, as a dead host does.
    async fn silent() -> (SocketAddr, Vec<socket2::Socket>) {
        use socket2::{Domain, Socket, Type};
        let listener = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        let any: SocketAddr = "127.0.0.1:0".parse().expect("an address");
        listener.bind(&any.into()).expect("a port");
        listener.listen(0).expect("listens");
        let address = listener.local_addr().expect("bound").as_socket().expect("IP");
        let mut kept = vec![listener];
        for _ in 0..4 {
            let filler = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
            filler.set_nonblocking(true).expect("set");
            // Begun, and perhaps queued.
            let _ = filler.connect(&address.into());
            kept.push(filler);
        }
        (address, kept)
    }

    #[tokio::test]
    async fn dead_addresses_cost_a_quarter_of_a_second_each() {
        let [(first, _a), (second, _b)] = [silent().await, silent().await];
        let live = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = live.local_addr().expect("bound");
        let began = Instant::now();
        let deadline = began + Duration::from_secs(30);
        let stream = connect([first, second, address], deadline).await.expect("the third answers");
        assert_eq!(stream.peer_addr().expect("connected"), address);
        let waited = began.elapsed();
        assert!(waited >= Duration::from_millis(500), "{waited:?}");
        assert!(waited < Duration::from_secs(10), "no timeout of an attempt: {waited:?}");
    }

    #[tokio::test]
    async fn the_error_names_every_address() {
        let unused = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let closed = unused.local_addr().expect("bound");
        drop(unused);
        let (dead, _kept) = silent().await;
        let deadline = Instant::now() + Duration::from_millis(600);
        let error = connect([closed, dead], deadline).await.expect_err("none answers");
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        let text = error.to_string();
        assert!(text.contains(&closed.to_string()) && text.contains(&dead.to_string()), "{text}");
    }
}

//! SOCKS 5, byte by byte.

use crate::bed::{Bed, Trust};
use crate::far::echo;
use crate::run;
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

async fn greeted(proxy: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(proxy).await.expect("a connection");
    stream.write_all(&[5, 2, 2, 0]).await.expect("written");
    let mut choice = [0; 2];
    stream.read_exact(&mut choice).await.expect("a choice");
    assert_eq!(choice, [5, 0]);
    stream
}

fn request(command: u8, name: &str, port: u16) -> Vec<u8> {
    let head = [5, command, 0, 3, name.len() as u8];
    [&head[..], name.as_bytes(), &port.to_be_bytes()].concat()
}

async fn reply(stream: &mut TcpStream) -> u8 {
    let mut reply = [0; 10];
    stream.read_exact(&mut reply).await.expect("a reply");
    assert_eq!((reply[0], reply[2], reply[3]), (5, 0, 1));
    reply[1]
}

async fn service() -> (String, u16) {
    let echo = echo().await;
    let port = echo.rsplit(':').next().expect("a port").parse().expect("a number");
    (echo, port)
}

#[test]
fn a_name_is_resolved_and_reached_at_the_far_end() {
    run(async {
        let (_, port) = service().await;
        let bed = Bed::new(&[], &["127.0.0.0/8"], Trust::Encrypted);
        let mut stream = greeted(bed.socks().await).await;
        // Data that follows the request at once is not lost.
        let early = [&request(1, "localhost", port)[..], b"early"].concat();
        stream.write_all(&early).await.expect("written");
        assert_eq!(reply(&mut stream).await, 0);
        stream.shutdown().await.expect("closed");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.expect("the end");
        assert_eq!(answer, "early");
    });
}

#[test]
fn refusals_have_the_codes_of_the_rfc() {
    run(async {
        let (_, port) = service().await;
        let closed = {
            let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
            listener.local_addr().expect("an address").port()
        };
        let bed = Bed::new(&[], &["127.0.0.1", "internet"], Trust::Encrypted);
        let proxy = bed.socks().await;
        for (command, name, port, code) in [
            (1, "127.0.0.1", closed, 5),
            (1, "127.0.0.2", port, 2),
            (1, "192.168.1.1", port, 2),
            (1, "name.invalid", 80, 4),
            (1, "no spaces", 80, 1),
            (2, "127.0.0.1", port, 7),
            (3, "127.0.0.1", port, 7),
        ] {
            let mut stream = greeted(proxy).await;
            stream.write_all(&request(command, name, port)).await.expect("written");
            assert_eq!(reply(&mut stream).await, code, "{command} {name}:{port}");
            assert_eq!(stream.read(&mut [0]).await.expect("the end"), 0);
        }
        let mut stream = greeted(proxy).await;
        stream.write_all(&[5, 1, 0, 9]).await.expect("written");
        assert_eq!(reply(&mut stream).await, 8);
    });
}

#[test]
fn a_program_that_insists_on_a_password_is_refused() {
    run(async {
        let bed = Bed::new(&[], &["internet"], Trust::Encrypted);
        let mut stream = TcpStream::connect(bed.socks().await).await.expect("a connection");
        stream.write_all(&[5, 1, 2]).await.expect("written");
        let mut choice = [0; 2];
        stream.read_exact(&mut choice).await.expect("a choice");
        assert_eq!(choice, [5, 0xFF]);
        assert_eq!(stream.read(&mut [0]).await.expect("the end"), 0);
    });
}

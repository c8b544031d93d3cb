//! The streams and listeners for tokio.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use windlass_tou::tokio::{AsyncTouListener, AsyncTouStream};

async fn pair() -> (AsyncTouStream, AsyncTouStream) {
    let listener = AsyncTouListener::bind("127.0.0.1:0").await.expect("a port");
    let client = AsyncTouStream::connect(listener.local_addr().expect("bound"));
    let (client, server) = tokio::join!(client, listener.accept());
    (client.expect("connects"), server.expect("comes").0)
}

#[tokio::test]
async fn bytes_go_both_ways_at_once() {
    let data: Vec<u8> =
        (0..3_000_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let (client, server) = pair().await;
    let both = [client, server].map(|stream| {
        let data = data.clone();
        tokio::spawn(async move {
            let (mut reading, mut writing) = tokio::io::split(stream);
            let send = async {
                writing.write_all(&data).await.expect("open");
                writing.shutdown().await.expect("open");
            };
            let mut arrived = Vec::new();
            let (_, read) = tokio::join!(send, reading.read_to_end(&mut arrived));
            read.expect("orderly");
            assert!(arrived == data);
        })
    });
    for task in both {
        task.await.expect("no panic");
    }
}

#[tokio::test]
async fn many_tasks_share_a_thread() {
    let listener = AsyncTouListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("bound");
    let clients: Vec<_> = (0..50u8)
        .map(|number| {
            tokio::spawn(async move {
                let mut stream = AsyncTouStream::connect(address).await.expect("connects");
                stream.write_all(&[number; 100]).await.expect("open");
                let mut answer = [0; 100];
                stream.read_exact(&mut answer).await.expect("open");
                assert_eq!(answer, [number; 100]);
            })
        })
        .collect();
    for _ in 0..50 {
        let (mut stream, _) = listener.accept().await.expect("comes");
        tokio::spawn(async move {
            let mut bytes = [0; 100];
            stream.read_exact(&mut bytes).await.expect("open");
            stream.write_all(&bytes).await.expect("open");
            // Waits until the client closes.
            let _ = stream.read(&mut bytes).await;
        });
    }
    for client in clients {
        client.await.expect("no panic");
    }
}

#[tokio::test]
async fn a_closed_port_refuses() {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
    let address = socket.local_addr().expect("bound");
    drop(socket);
    let error = AsyncTouStream::connect(address).await.expect_err("no listener");
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused);
}

#[path = "../examples/tls.rs"]
mod tls;

#[test]
fn the_example_with_tls_runs() {
    tls::main().expect("all came back");
}

/// Streams that are encrypted.
#[cfg(feature = "secure")]
mod secure {
    use super::pair;
    use std::io::ErrorKind;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use windlass_tou::secure::tokio::AsyncSecureStream;
    use windlass_tou::secure::{Allow, Identity, SecretKey};

    fn identity(seed: u8) -> Identity {
        Identity::new(&SecretKey::from_seed([seed; 32]))
    }

    #[tokio::test]
    async fn bytes_go_both_ways_at_once() {
        let data: Vec<u8> =
            (0..3_000_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let (client, server) = pair().await;
        let (own, peer) = (identity(1), identity(2));
        let allow = Allow::keys([own.public_key()]);
        let client = AsyncSecureStream::connect(client, &own, peer.public_key());
        let (client, server) =
            tokio::join!(client, AsyncSecureStream::accept(server, &peer, &allow));
        let both = [client, server].map(|stream| {
            let (stream, data) = (stream.expect("secured"), data.clone());
            tokio::spawn(async move {
                let (mut reading, mut writing) = tokio::io::split(stream);
                let send = async {
                    writing.write_all(&data).await.expect("open");
                    writing.shutdown().await.expect("open");
                };
                let mut arrived = Vec::new();
                let (_, read) = tokio::join!(send, reading.read_to_end(&mut arrived));
                read.expect("orderly");
                assert!(arrived == data);
            })
        });
        for task in both {
            task.await.expect("no panic");
        }
    }

    #[tokio::test]
    async fn a_key_that_is_not_allowed_is_refused() {
        let (client, server) = pair().await;
        let (own, peer, allow) = (identity(1), identity(2), Allow::keys([]));
        let client = AsyncSecureStream::connect(client, &own, peer.public_key());
        let (client, server) =
            tokio::join!(client, AsyncSecureStream::accept(server, &peer, &allow));
        assert_eq!(server.expect_err("refused").kind(), ErrorKind::PermissionDenied);
        let mut client = client.expect("the right server");
        let error = client.read_u8().await.expect_err("refused");
        assert_eq!(error.kind(), ErrorKind::PermissionDenied);
        assert_eq!(client.get_ref().own_key(), own.public_key());
    }
}

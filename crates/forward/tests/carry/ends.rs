//! How a connection ends at one side, it ends at the other.

use crate::bed::{Bed, Trust};
use crate::run;
use std::io::ErrorKind;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A connection through the forward: the program's end, and the service's.
async fn joined(trust: Trust) -> (Bed, TcpStream, TcpStream) {
    let service = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let target = format!("test={}", service.local_addr().expect("an address"));
    let bed = Bed::new(&[target], &[], trust);
    let port = bed.forward("test").await;
    let program = TcpStream::connect(port).await.expect("a connection");
    let (service, _) = service.accept().await.expect("a connection");
    (bed, program, service)
}

async fn each(test: impl AsyncFn(TcpStream, TcpStream)) {
    for trust in [Trust::Plain, Trust::Encrypted] {
        let (_bed, program, service) = joined(trust).await;
        test(program, service).await;
    }
}

/// Both ways: `test` gets the two ends in either order.
async fn both_ways(test: impl AsyncFn(TcpStream, TcpStream)) {
    each(async |program, service| test(program, service).await).await;
    each(async |program, service| test(service, program).await).await;
}

fn reset(stream: TcpStream) {
    socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO)).expect("an option");
}

async fn assert_reset(stream: &mut TcpStream) {
    let mut rest = Vec::new();
    let error = stream.read_to_end(&mut rest).await.expect_err("a reset");
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}

#[test]
fn one_direction_ends_and_the_other_goes_on() {
    run(both_ways(async |mut first, mut second| {
        first.write_all(b"question").await.expect("written");
        first.shutdown().await.expect("closed");
        let mut question = String::new();
        second.read_to_string(&mut question).await.expect("the end");
        assert_eq!(question, "question");
        second.write_all(b"answer").await.expect("written");
        drop(second);
        let mut answer = String::new();
        first.read_to_string(&mut answer).await.expect("the end");
        assert_eq!(answer, "answer");
    }));
}

#[test]
fn a_reset_reaches_the_other_side() {
    run(both_ways(async |mut first, mut second| {
        first.write_all(b"x").await.expect("written");
        second.read_exact(&mut [0]).await.expect("a byte");
        reset(first);
        assert_reset(&mut second).await;
    }));
}

#[test]
fn a_reset_after_the_end_of_its_direction_reaches_the_other_side() {
    run(both_ways(async |mut first, mut second| {
        first.shutdown().await.expect("closed");
        assert_eq!(second.read(&mut [0]).await.expect("the end"), 0);
        reset(first);
        // Nothing is written here: only a watched connection notices. Linux reports EPIPE for a
        // reset that follows an end.
        second.ready(tokio::io::Interest::ERROR).await.expect("readiness");
        let error = second.take_error().expect("an option").expect("an error");
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
    }));
}

#[test]
fn a_reset_reaches_a_side_that_does_not_read() {
    run(both_ways(async |first, mut second| {
        // Until the buffers of all parts are full.
        let block = vec![0; 1 << 20];
        let stuck = |stream: &TcpStream| stream.try_write(&block).is_err();
        let mut full_for = 0;
        while full_for < 20 {
            full_for = if stuck(&first) { full_for + 1 } else { 0 };
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        reset(first);
        second.ready(tokio::io::Interest::ERROR).await.expect("readiness");
        assert_reset(&mut second).await;
    }));
}

#[test]
fn data_written_before_the_end_arrive() {
    run(both_ways(async |mut first, mut second| {
        let data: Vec<u8> = (0..8_000_000_u32).map(|i| (i * 7 / 5) as u8).collect();
        let expected = data.clone();
        let writer = async move {
            first.write_all(&data).await.expect("written");
            first.shutdown().await.expect("closed");
            let mut rest = Vec::new();
            first.read_to_end(&mut rest).await.expect("the end");
            assert!(rest.is_empty());
        };
        let reader = async move {
            let mut read = Vec::new();
            second.read_to_end(&mut read).await.expect("the end");
            assert!(read == expected, "{} bytes of {}", read.len(), expected.len());
        };
        tokio::join!(writer, reader);
    }));
}

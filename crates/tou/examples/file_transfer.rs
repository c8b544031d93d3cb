//! Sends a file over ToU.
//!
//! ```text
//! cargo run --example file_transfer -- receive 7000 FILE            # 0: any port; prints it
//! cargo run --example file_transfer -- send 127.0.0.1:7000 FILE
//! ```

use std::fs::File;
use std::io;
use std::net::Shutdown;
use std::process::ExitCode;
use std::time::Duration;
use windlass_tou::{TouListener, TouStream};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments[..] {
        ["receive", port, name] => receive(port, name),
        ["send", address, name] => send(address, name),
        _ => Err(io::Error::other(
            "usage: file_transfer receive PORT FILE | file_transfer send HOST:PORT FILE",
        )),
    };
    result.map_or_else(
        |error| {
            eprintln!("{error}");
            ExitCode::FAILURE
        },
        |()| ExitCode::SUCCESS,
    )
}

fn receive(port: &str, name: &str) -> io::Result<()> {
    let listener = TouListener::bind(format!("0.0.0.0:{port}"))?;
    println!("port {}", listener.local_addr()?.port());
    let (mut stream, _) = listener.accept()?;
    io::copy(&mut stream, &mut File::create(name)?)?;
    // Makes sure that the sender receives the FIN before this process ends.
    drop(stream);
    windlass_tou::drain(Duration::from_secs(5));
    Ok(())
}

fn send(address: &str, name: &str) -> io::Result<()> {
    let mut stream = TouStream::connect(address)?;
    io::copy(&mut File::open(name)?, &mut stream)?;
    // Waits until the receiver closes, which it does when it has the whole file.
    stream.shutdown(Shutdown::Write)?;
    io::copy(&mut stream, &mut io::sink())?;
    let info = stream.info()?;
    eprintln!(
        "{} bytes, {} segments retransmitted",
        info.bytes_acked, info.stats.retransmitted_segments
    );
    Ok(())
}

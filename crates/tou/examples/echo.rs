//! Echo over ToU.
//!
//! ```text
//! cargo run --example echo -- server 7000             # 0: any port; prints it
//! cargo run --example echo -- client 127.0.0.1:7000   # sends its input and prints the echo
//! ```

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::process::ExitCode;
use std::thread;
use windlass_tou::{TouListener, TouStream};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments[..] {
        ["server", port] => server(port),
        ["client", address] => client(address),
        _ => Err(io::Error::other("usage: echo server PORT | echo client HOST:PORT")),
    };
    result.map_or_else(
        |error| {
            eprintln!("{error}");
            ExitCode::FAILURE
        },
        |()| ExitCode::SUCCESS,
    )
}

/// Serves until standard input ends.
fn server(port: &str) -> io::Result<()> {
    let listener = TouListener::bind(format!("0.0.0.0:{port}"))?;
    println!("port {}", listener.local_addr()?.port());
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || io::copy(&mut &stream, &mut &stream));
        }
    });
    io::copy(&mut io::stdin(), &mut io::sink())?;
    Ok(())
}

fn client(address: &str) -> io::Result<()> {
    let stream = TouStream::connect(address)?;
    thread::scope(|scope| {
        let sender = scope.spawn(|| {
            io::copy(&mut io::stdin(), &mut &stream)?;
            stream.shutdown(Shutdown::Write)
        });
        let mut buffer = vec![0; 1 << 16];
        let mut out = io::stdout();
        loop {
            match (&stream).read(&mut buffer)? {
                0 => break,
                len => out.write_all(&buffer[..len])?,
            }
        }
        sender.join().map_err(|_| io::Error::other("the sender failed"))?
    })
}

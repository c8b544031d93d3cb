//! Follows a script against one server and prints the windows of each round.
//!
//! `sudo identify 192.0.2.1:80 /large`

use std::net::SocketAddr;
use windlass_base::Span;
use windlass_probe::dialogue::Dialogue;
use windlass_probe::linux::Driver;
use windlass_probe::{Order, Purpose, cca};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let remote: SocketAddr = args.next().ok_or("which server?")?.parse()?;
    let path = args.next().unwrap_or("/".to_owned());
    let mss: u16 = args.next().unwrap_or("256".to_owned()).parse()?;
    let mut driver = Driver::open()?;
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").into_bytes();
    let order = Order {
        purpose: Purpose::Identify,
        dialogue: Dialogue::Http { request },
        tls: None,
        acks: 3,
        timeout: Span::from_secs(3),
        patience: Span::from_secs(6),
        mss,
        window: 1 << 20,
    };
    driver.connect(0, remote, order)?;
    let report = loop {
        if let Some((_, report)) = driver.poll(Span::from_secs(1))?.pop() {
            break report;
        }
    };
    let trace = report.trace.ok_or("no trace")?;
    let verdict = cca::judge(&[&trace], &cca::Library::measured()?);
    println!("{}", serde_json::json!({ "trace": trace, "verdict": verdict }));
    Ok(())
}

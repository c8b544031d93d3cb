//! Serves the metrics over HTTP: a GET, an answer, the end of the connection.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use super::{Handle, page};

/// The longest head of a request in bytes.
const HEAD_MAX: usize = 8192;
/// Fields of the head.
const FIELDS_MAX: usize = 64;
/// For a request and its answer. One is served after the other.
const PATIENCE: Duration = Duration::from_secs(5);

/// Serves the metrics of a daemon at `address` until the process ends. Returns the address.
///
/// # Errors
///
/// The address or a thread cannot be had.
pub fn serve_metrics(address: SocketAddr, handle: Handle) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind(address)?;
    let bound = listener.local_addr()?;
    let serve = move || {
        for stream in listener.incoming() {
            match stream {
                // Whoever goes away does not want the answer.
                Ok(stream) => drop(answer(stream, &handle)),
                // No more files.
                Err(_) => thread::sleep(Duration::from_millis(100)),
            }
        }
    };
    thread::Builder::new().name("metrics".into()).spawn(serve)?;
    Ok(bound)
}

fn answer(mut stream: TcpStream, handle: &Handle) -> io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    let (status, body) = match read_path(&mut stream)? {
        Ok(path) if path == "/metrics" => match handle.figures() {
            Some(figures) => ("200 OK", page(&figures)),
            None => ("503 Service Unavailable", "the server has ended\n".to_owned()),
        },
        Ok(_) => ("404 Not Found", "metrics are at /metrics\n".to_owned()),
        Err(status) => (status, String::new()),
    };
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}

/// Reads a request to its empty line. Returns the path, or the status of the refusal.
fn read_path(stream: &mut TcpStream) -> io::Result<Result<String, &'static str>> {
    let deadline = Instant::now() + PATIENCE;
    let mut head = Vec::new();
    let mut part = [0; 1024];
    loop {
        let mut fields = [httparse::EMPTY_HEADER; FIELDS_MAX];
        let mut request = httparse::Request::new(&mut fields);
        match request.parse(&head) {
            Ok(httparse::Status::Complete(_)) if request.method != Some("GET") => {
                return Ok(Err("405 Method Not Allowed"));
            }
            Ok(httparse::Status::Complete(_)) => {
                let target = request.path.unwrap_or_default();
                let path = target.split('?').next().unwrap_or_default();
                return Ok(Ok(path.to_owned()));
            }
            Ok(httparse::Status::Partial) if head.len() < HEAD_MAX => {}
            Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
                return Ok(Err("431 Request Header Fields Too Large"));
            }
            Err(_) => return Ok(Err("400 Bad Request")),
        }
        let left = deadline.saturating_duration_since(Instant::now());
        // Zero would be without end.
        stream.set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
        match stream.read(&mut part)? {
            _ if left.is_zero() => return Err(ErrorKind::TimedOut.into()),
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            count => head.extend_from_slice(&part[..count]),
        }
    }
}

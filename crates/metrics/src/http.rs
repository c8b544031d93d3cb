//! A GET, an answer, the end of the connection.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

/// The longest head of a request in bytes.
const HEAD_MAX: usize = 8192;
/// Fields of the head.
const FIELDS_MAX: usize = 64;
/// For a request and its answer. One is served after the other.
const PATIENCE: Duration = Duration::from_secs(5);

/// Serves the text that `page` returns at `/metrics` and at `/`, in a thread of its own, until the
/// process ends. An error of `page` becomes the status 503 with its text. Returns the address.
///
/// # Errors
///
/// The listener has no address, or the thread cannot be started.
pub fn serve(
    listener: TcpListener,
    page: impl Fn() -> Result<String, String> + Send + 'static,
) -> io::Result<SocketAddr> {
    let bound = listener.local_addr()?;
    let serve = move || {
        for stream in listener.incoming() {
            match stream {
                // A client that has gone away does not want the answer.
                Ok(stream) => drop(answer(stream, &page)),
                // No more files.
                Err(_) => thread::sleep(Duration::from_millis(100)),
            }
        }
    };
    thread::Builder::new().name("metrics".into()).spawn(serve)?;
    Ok(bound)
}

fn answer(mut stream: TcpStream, page: &impl Fn() -> Result<String, String>) -> io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    let (status, body) = match read_path(&mut stream)? {
        Ok(path) if path == "/metrics" || path == "/" => match page() {
            Ok(page) => ("200 OK", page),
            Err(message) => ("503 Service Unavailable", format!("{message}\n")),
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
        if let Some(result) = parse(&head) {
            return Ok(result);
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

/// `None` if the head is not complete yet.
fn parse(head: &[u8]) -> Option<Result<String, &'static str>> {
    let mut fields = [httparse::EMPTY_HEADER; FIELDS_MAX];
    let mut request = httparse::Request::new(&mut fields);
    match request.parse(head) {
        Ok(httparse::Status::Complete(_)) if request.method != Some("GET") => {
            Some(Err("405 Method Not Allowed"))
        }
        Ok(httparse::Status::Complete(_)) => {
            let target = request.path.unwrap_or_default();
            Some(Ok(target.split('?').next().unwrap_or_default().to_owned()))
        }
        Ok(httparse::Status::Partial) if head.len() < HEAD_MAX => None,
        Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
            Some(Err("431 Request Header Fields Too Large"))
        }
        Err(_) => Some(Err("400 Bad Request")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(at: SocketAddr, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(at).expect("a server");
        let _ = stream.write_all(request);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8(answer).expect("UTF-8")
    }

    fn free() -> TcpListener {
        TcpListener::bind("127.0.0.1:0").expect("a free port")
    }

    #[test]
    fn the_page_is_served_and_nothing_else() {
        let at = serve(free(), || Ok("a 1\n".to_owned())).expect("a thread");
        let page = ask(at, b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        assert!(
            page.starts_with("HTTP/1.1 200 OK\r\n") && page.ends_with("\r\n\r\na 1\n"),
            "{page}"
        );
        assert!(page.contains("Content-Length: 4\r\n"), "{page}");
        for (request, status) in [
            (&b"GET /metrics?x=1 HTTP/1.1\r\n\r\n"[..], "200"),
            (b"GET /other HTTP/1.1\r\n\r\n", "404"),
            (b"POST /metrics HTTP/1.1\r\n\r\n", "405"),
            (b"GET\r\n\r\n", "400"),
            (b"\xff\x00 \xff\r\n\r\n", "400"),
        ] {
            let answer = ask(at, request);
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
        }
        // A request without an end is cut off, and the next one is served.
        ask(at, &vec![b'x'; 100_000]);
        assert!(ask(at, b"GET / HTTP/1.0\r\n\r\n").contains(" 200 "));
    }

    #[test]
    fn a_page_that_cannot_be_made_says_why() {
        let at = serve(free(), || Err("not now".to_owned())).expect("a thread");
        let answer = ask(at, b"GET /metrics HTTP/1.1\r\n\r\n");
        assert!(answer.starts_with("HTTP/1.1 503 ") && answer.ends_with("not now\n"), "{answer}");
    }
}

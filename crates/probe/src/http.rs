//! The part of HTTP/1.1 that a measurement needs: a GET request and the head of the answer.

use serde::Serialize;
use url::Url;

/// A longer head counts as no HTTP.
pub(crate) const HEAD_BYTES_MAX: usize = 64 * 1024;
const HEADERS_MAX: usize = 128;

/// The end of a body in chunks (RFC 9112 section 7.1) without trailers.
pub(crate) const LAST_CHUNK: &[u8] = b"\r\n0\r\n\r\n";

/// The default User-Agent of the probe.
pub const USER_AGENT: &str = concat!("windlass-probe/", env!("CARGO_PKG_VERSION"));

/// The request for `url`. Connection: close, so that FIN marks the end of the answer.
pub fn request(url: &Url, user_agent: &str) -> Vec<u8> {
    a_request(url, user_agent, "close")
}

/// As many requests for `url`, the last one with Connection: close.
pub(crate) fn requests(url: &Url, user_agent: &str, count: usize) -> Vec<u8> {
    let mut all = a_request(url, user_agent, "keep-alive").repeat(count.saturating_sub(1));
    all.extend(request(url, user_agent));
    all
}

fn a_request(url: &Url, user_agent: &str, connection: &str) -> Vec<u8> {
    let host = url.host_str().unwrap_or_default();
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
    // Line feeds would be further headers.
    let user_agent = user_agent.replace(|c: char| c.is_control(), " ");
    format!(
        "GET {}{query} HTTP/1.1\r\nHost: {host}{port}\r\nUser-Agent: {user_agent}\r\n\
         Accept: */*\r\nAccept-Encoding: identity\r\nConnection: {connection}\r\n\r\n",
        url.path()
    )
    .into_bytes()
}

/// The parts of an answer's head that the probe uses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Head {
    /// The status code.
    pub status: u16,
    /// The Location header, the target of a redirect.
    pub location: Option<String>,
    /// The Server header.
    pub server: Option<String>,
    /// The Content-Length header: bytes of the body.
    pub content_length: Option<u64>,
    /// Whether the body is chunked: its last chunk then marks the end.
    pub chunked: bool,
    /// Bytes of the head itself.
    pub head_bytes: usize,
}

impl Head {
    /// The target of a redirect from `url`; `None` if the answer is no redirect to an HTTP URL.
    pub fn redirect_from(&self, url: &Url) -> Option<Url> {
        if !matches!(self.status, 301 | 302 | 303 | 307 | 308) {
            return None;
        }
        let target = url.join(self.location.as_deref()?).ok()?;
        let web = matches!(target.scheme(), "http" | "https") && target.has_host();
        web.then_some(target)
    }

    /// Whether the answer is complete after `bytes` bytes, by its length or its last chunk. `tail` are
    /// the last bytes, as many as [`LAST_CHUNK`] has.
    pub(crate) fn ends_after(&self, bytes: u64, tail: &[u8]) -> bool {
        // RFC 9112 section 6.3, rules 1 and 4.
        let length = if matches!(self.status, 204 | 304) { Some(0) } else { self.content_length };
        let all = length.map(|length| length.saturating_add(self.head_bytes as u64));
        all.is_some_and(|all| bytes >= all) || self.chunked && tail == LAST_CHUNK
    }
}

/// The result of parsing the first bytes of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Parsed {
    /// A valid beginning of a head.
    Partial,
    NotHttp,
    Complete(Head),
}

pub(crate) fn parse(bytes: &[u8]) -> Parsed {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut response = httparse::Response::new(&mut headers);
    match response.parse(bytes) {
        Ok(httparse::Status::Partial) if bytes.len() >= HEAD_BYTES_MAX => Parsed::NotHttp,
        Ok(httparse::Status::Partial) => Parsed::Partial,
        Ok(httparse::Status::Complete(head_bytes)) => {
            Parsed::Complete(head_of(&response, head_bytes))
        }
        Err(_) => Parsed::NotHttp,
    }
}

fn head_of(response: &httparse::Response<'_, '_>, head_bytes: usize) -> Head {
    let value = |name: &str| {
        let header = response.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name));
        header.map(|header| String::from_utf8_lossy(header.value).trim().to_owned())
    };
    let chunked = value("transfer-encoding").is_some();
    let content_length = value("content-length").and_then(|text| text.parse().ok());
    Head {
        status: response.code.unwrap_or(0),
        location: value("location"),
        server: value("server"),
        content_length: content_length.filter(|_| !chunked),
        chunked,
        head_bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).expect("a URL")
    }

    fn head(text: &str) -> Head {
        match parse(text.as_bytes()) {
            Parsed::Complete(head) => head,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_request_names_host_port_path_and_query() {
        let text = request(&url("http://[2001:db8::1]:8080/a%20b?c=d#e"), "x\r\nEvil: 1");
        let text = String::from_utf8(text).expect("text");
        assert!(text.starts_with("GET /a%20b?c=d HTTP/1.1\r\nHost: [2001:db8::1]:8080\r\n"));
        assert!(text.contains("User-Agent: x  Evil: 1\r\n") && text.ends_with("\r\n\r\n"));
        assert!(request(&url("https://example.org/"), "x").starts_with(b"GET / HTTP/1.1\r\n"));
    }

    #[test]
    fn redirects_are_relative_to_the_page_and_lead_only_to_the_web() {
        let page = url("http://a.example/b/c");
        for (status, location, expected) in [
            (301, "https://b.example/", Some("https://b.example/")),
            (302, "/x", Some("http://a.example/x")),
            (308, "y", Some("http://a.example/b/y")),
            (307, "ftp://b.example/", None),
            (301, "http://", None),
            (200, "/x", None),
        ] {
            let head = head(&format!("HTTP/1.1 {status} X\r\nLocation: {location}\r\n\r\n"));
            assert_eq!(head.redirect_from(&page).map(String::from).as_deref(), expected);
        }
    }

    #[test]
    fn content_length_ends_an_answer_unless_it_is_chunked() {
        let plain = head("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nServer: x\r\n\r\nhello");
        assert!(plain.ends_after(plain.head_bytes as u64 + 5, b"\r\nhello"));
        assert!(!plain.ends_after(plain.head_bytes as u64 + 4, b"\n\r\nhell"));
        assert_eq!(plain.server.as_deref(), Some("x"));
        let text = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n";
        let chunks = head(text);
        assert_eq!((chunks.content_length, chunks.chunked), (None, true));
        assert!(chunks.ends_after(200, LAST_CHUNK) && !chunks.ends_after(200, b"\r\n10\r\n\r"));
        assert!(head("HTTP/1.1 204 No Content\r\n\r\n").ends_after(27, b"nt\r\n\r\n"));
    }

    #[test]
    fn endless_headers_and_other_protocols_are_no_http() {
        assert_eq!(parse(b"HTTP/1.1 200 OK\r\nA: b"), Parsed::Partial);
        assert_eq!(parse(b"\x15\x03\x01\x00\x02\x02\x46"), Parsed::NotHttp);
        assert_eq!(parse(b"SSH-2.0-x\r\n"), Parsed::NotHttp);
        let endless = format!("HTTP/1.1 200 OK\r\nA: {}", "b".repeat(HEAD_BYTES_MAX));
        assert_eq!(parse(endless.as_bytes()), Parsed::NotHttp);
        let many = format!("HTTP/1.1 200 OK\r\n{}", "A: b\r\n".repeat(HEADERS_MAX + 1));
        assert_eq!(parse(many.as_bytes()), Parsed::NotHttp);
    }
}

//! The part of HTTP/1.1 that a measurement needs: a GET request and the head of the answer.

use crate::host::{check_host, written_host};
use serde::Serialize;
use url::Url;
use windlass_base::printable;

/// A longer head counts as no HTTP.
pub(crate) const HEAD_BYTES_MAX: usize = 64 * 1024;
/// The position of the status in a status line: `HTTP/1.1 200`.
const STATUS_AT: usize = 9;
/// The fields for which the first attempt to parse a head has room.
const HEADERS_FIRST: usize = 64;

/// The end of a body in chunks (RFC 9112 section 7.1) without trailers.
pub(crate) const LAST_CHUNK: &[u8] = b"\r\n0\r\n\r\n";

/// The default User-Agent of the probe.
pub const USER_AGENT: &str = concat!("windlass-probe/", env!("CARGO_PKG_VERSION"));

/// The request for `url`. Connection: close, so that FIN marks the end of the answer.
pub(crate) fn request(url: &Url, user_agent: &str) -> Vec<u8> {
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
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
    /// Whether the body is HTML, by the Content-Type header.
    #[serde(skip)]
    pub is_html: bool,
    /// Bytes of the head itself.
    pub head_bytes: usize,
}

impl Head {
    /// The target of a redirect from `url`; `None` if the answer is no redirect to an HTTP URL.
    ///
    /// # Errors
    ///
    /// The error says why the host of the target is no strict address and no name.
    pub(crate) fn redirect_from(&self, url: &Url) -> Result<Option<Url>, String> {
        let location = self.location.as_deref();
        let redirects = matches!(self.status, 301 | 302 | 303 | 307 | 308);
        let Some(location) = location.filter(|_| redirects) else { return Ok(None) };
        let Ok(target) = url.join(location) else { return Ok(None) };
        if !matches!(target.scheme(), "http" | "https") || !target.has_host() {
            return Ok(None);
        }
        // A relative reference keeps the host, which was checked.
        if written_host(location).is_some() || target.host() != url.host() {
            check_host(&target, location)?;
        }
        Ok(Some(target))
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

/// The beginning of an answer as it arrives: interim answers, and the head of the final one. Interim answers
/// (RFC 9110 section 15.2) have a status of 1xx, no content, and may be several. 101 is a final one here: the
/// request asks for no other protocol, so what follows is the server's own.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reader {
    /// Bytes of the interim answers so far.
    interim_bytes: usize,
    /// Bytes after them.
    begin: Vec<u8>,
    /// Bytes of `begin` when it was parsed last.
    parsed_bytes: usize,
}

impl Reader {
    /// Takes bytes of the answer, of which the head is not complete yet. At most [`HEAD_BYTES_MAX`] are kept.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Parsed {
        let before = self.begin.len();
        let room = HEAD_BYTES_MAX.saturating_sub(self.interim_bytes + before);
        self.begin.extend_from_slice(&bytes[..bytes.len().min(room)]);
        let is_full = bytes.len() >= room;
        if !is_full && !self.is_worth(before) {
            return Parsed::Partial;
        }
        match self.parse() {
            Parsed::Partial if is_full => Parsed::NotHttp,
            parsed => parsed,
        }
    }

    /// Parses what is there, and removes interim answers.
    fn parse(&mut self) -> Parsed {
        let mut at = 0;
        let parsed = loop {
            let rest = &self.begin[at..];
            match parse_head(rest) {
                Parsed::Complete(head) if is_interim(head.status) => at += head.head_bytes,
                Parsed::Complete(head) => {
                    let head_bytes = self.interim_bytes + at + head.head_bytes;
                    break Parsed::Complete(Head { head_bytes, ..head });
                }
                other => break other,
            }
        };
        self.interim_bytes += at;
        self.begin.drain(..at);
        self.parsed_bytes = self.begin.len();
        parsed
    }

    /// Whether an attempt to parse may find more than the last one. Each begins with the head's first byte, and a
    /// server may send a byte a packet. So it waits for an empty line, which ends a head, or for twice the bytes.
    /// The first bytes are parsed at once because they show other protocols.
    fn is_worth(&self, before: usize) -> bool {
        let new = &self.begin[before.saturating_sub(3)..];
        let has_ended = contains(new, b"\n\n") || contains(new, b"\n\r\n");
        has_ended || self.begin.len() < 64 || self.begin.len() >= 2 * self.parsed_bytes
    }

    /// Whether the final answer has begun: its status is known, or the bytes are no HTTP.
    pub(crate) fn final_has_begun(&self) -> bool {
        let rest = &self.begin;
        match (rest.get(STATUS_AT), rest.get(STATUS_AT..STATUS_AT + 3)) {
            (None, _) => false,
            (Some(b'1'), status) => status == Some(b"101"),
            (Some(_), _) => true,
        }
    }
}

fn contains(bytes: &[u8], text: &[u8]) -> bool {
    bytes.windows(text.len()).any(|window| window == text)
}

fn is_interim(status: u16) -> bool {
    (100..200).contains(&status) && status != 101
}

/// Parses one head. A field may go on in the next line (RFC 9112 section 5.2), which counts as a blank,
/// and blanks before a colon are left out (section 5.1). A line that is no field at all is passed over:
/// it is the server's fault, and does not make its answer another protocol.
fn parse_head(bytes: &[u8]) -> Parsed {
    let mut config = httparse::ParserConfig::default();
    config
        .allow_obsolete_multiline_headers_in_responses(true)
        .allow_spaces_after_header_name_in_responses(true)
        .ignore_invalid_headers_in_responses(true);
    let mut count = HEADERS_FIRST;
    loop {
        let mut headers = vec![httparse::EMPTY_HEADER; count];
        let mut response = httparse::Response::new(&mut headers);
        match config.parse_response(&mut response, bytes) {
            Ok(httparse::Status::Partial) => return Parsed::Partial,
            Ok(httparse::Status::Complete(len)) => {
                return Parsed::Complete(head_of(&response, len));
            }
            // The shortest field has four bytes, so that the bound of the head's bytes ends this.
            Err(httparse::Error::TooManyHeaders) if count < HEAD_BYTES_MAX => count *= 4,
            Err(_) => return Parsed::NotHttp,
        }
    }
}

fn head_of(response: &httparse::Response<'_, '_>, head_bytes: usize) -> Head {
    let value = |name: &str| {
        let header = response.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name));
        header.map(|header| unfolded(header.value))
    };
    let status = response.code.unwrap_or(0);
    let chunked = value("transfer-encoding").is_some();
    // After 101 the bytes are those of another protocol (RFC 9110 section 15.2.2).
    let content_length = value("content-length").filter(|_| !chunked && status != 101);
    Head {
        status,
        location: value("location"),
        server: value("server").map(|server| printable(&server).to_string()),
        content_length: content_length
            .filter(|text| is_length(text))
            .and_then(|text| text.parse().ok()),
        chunked,
        is_html: value("content-type").is_some_and(|kind| is_html(&kind)),
        head_bytes,
    }
}

/// RFC 9110 section 8.6: digits alone. Rust reads a sign, too.
fn is_length(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a media type (RFC 9110 section 8.3.1) is that of HTML.
fn is_html(media_type: &str) -> bool {
    let name = media_type.split(';').next().unwrap_or_default().trim();
    ["text/html", "application/xhtml+xml"].iter().any(|html| name.eq_ignore_ascii_case(html))
}

/// The content of a body in chunks (RFC 9112 section 7.1), as far as it is there.
pub(crate) fn unchunked(mut body: &[u8]) -> Vec<u8> {
    let mut content = Vec::new();
    while let Ok(httparse::Status::Complete((at, len @ 1..))) = httparse::parse_chunk_size(body) {
        let rest = &body[at..];
        let len = usize::try_from(len).unwrap_or(usize::MAX).min(rest.len());
        content.extend_from_slice(&rest[..len]);
        body = rest[len..].strip_prefix(b"\r\n").unwrap_or_default();
    }
    content
}

/// The text of a field; the ends of its lines and what follows them are one blank.
fn unfolded(value: &[u8]) -> String {
    let text = String::from_utf8_lossy(value);
    let lines = text.split(['\r', '\n']).map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn url(text: &str) -> Url {
        Url::parse(text).expect("a URL")
    }

    fn parse(bytes: &[u8]) -> Parsed {
        Reader::default().take(bytes)
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
    fn chunks_are_put_together_as_far_as_they_have_come() {
        let body = b"4;x=1\r\n<a h\r\n6\r\nref=/>\r\n0\r\n\r\n";
        assert_eq!(unchunked(body), b"<a href=/>");
        assert_eq!(unchunked(&body[..14]), b"<a h");
        assert_eq!(unchunked(&body[..18]), b"<a hre");
        assert_eq!(unchunked(b"no chunk"), b"");
        assert_eq!(unchunked(b"ffffffffffffffff\r\nab"), b"ab");
    }

    #[test]
    fn the_content_type_says_whether_there_are_links() {
        for (kind, html) in [
            ("text/html", true),
            ("Text/HTML; charset=utf-8", true),
            ("application/xhtml+xml", true),
            ("text/htmlx", false),
            ("text/plain; text/html", false),
        ] {
            let head = head(&format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n\r\n"));
            assert_eq!(head.is_html, html, "{kind}");
        }
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
            let target = head.redirect_from(&page).expect("a strict host");
            assert_eq!(target.map(String::from).as_deref(), expected);
        }
    }

    #[test]
    fn a_redirect_to_a_host_that_two_programs_may_read_differently_is_refused() {
        for page in ["http://a.example/b", "http://9.0.0.1/"] {
            for location in [
                "http://010.0.0.1/",
                "//010.0.0.1/",
                "https://x@0x8.1:81/x",
                "http://134217729/",
                "http:\\\\010.0.0.1\\",
                "/\\010.0.0.1/",
                "http://1%30.0.0.1/",
            ] {
                let head = head(&format!("HTTP/1.1 301 X\r\nLocation: {location}\r\n\r\n"));
                let target = head.redirect_from(&url(page));
                assert!(!matches!(target, Ok(Some(_))), "{page} {location}: {target:?}");
            }
            for location in ["http://10.0.0.1/x//y", "//10.0.0.1:81/", "x//y", "/x//010.0.0.1/"] {
                let head = head(&format!("HTTP/1.1 301 X\r\nLocation: {location}\r\n\r\n"));
                assert!(matches!(head.redirect_from(&url(page)), Ok(Some(_))), "{page} {location}");
            }
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
        let interim = "HTTP/1.1 103 X\r\n\r\n".repeat(HEAD_BYTES_MAX / 16);
        assert_eq!(parse(&interim.as_bytes()[..HEAD_BYTES_MAX]), Parsed::NotHttp);
    }

    #[test]
    fn any_number_of_fields_is_read_up_to_the_bound_of_the_head() {
        for count in [0, 1, 63, 64, 65, 140, 1000, 10_000] {
            let fields = "A: b\r\n".repeat(count);
            let head = head(&format!("HTTP/1.1 200 OK\r\n{fields}Server: x\r\n\r\n"));
            assert_eq!((head.server.as_deref(), head.status), (Some("x"), 200), "{count}");
        }
    }

    /// RFC 9110 section 15.2: a client takes one or more interim answers before the final one.
    #[test]
    fn interim_answers_precede_the_final_one() {
        let hint =
            "HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\nContent-Length: 9\r\n\r\n";
        let ok = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
        for interim in [hint.to_owned(), hint.repeat(3), format!("HTTP/1.1 100\r\n\r\n{hint}")] {
            let head = head(&format!("{interim}{ok}hello"));
            assert_eq!((head.status, head.content_length), (200, Some(5)));
            assert_eq!(head.head_bytes, interim.len() + ok.len());
            assert!(head.ends_after((head.head_bytes + 5) as u64, b"\r\nhello"));
            assert_eq!(parse(interim.as_bytes()), Parsed::Partial);
            for (rest, begun) in
                [("", false), ("HTTP/1.1 1", false), ("HTTP/1.1 101", true), ("HTTP/1.1 2", true)]
            {
                let mut reader = Reader::default();
                assert_eq!(reader.take(format!("{interim}{rest}").as_bytes()), Parsed::Partial);
                assert_eq!(reader.final_has_begun(), begun, "{rest}");
            }
        }
        assert_eq!(parse(format!("{hint}SSH-2.0-x\r\n").as_bytes()), Parsed::NotHttp);
    }

    /// A server may send a byte a packet. Each attempt to parse begins with the first byte of a head.
    #[test]
    fn heads_that_arrive_byte_by_byte_are_parsed_few_times() {
        let one_head = format!("HTTP/1.1 200 OK\r\n{}", "A: b\r\n".repeat(HEAD_BYTES_MAX / 6));
        for text in [one_head, "HTTP/1.1 103 X\r\n\r\n".repeat(HEAD_BYTES_MAX / 16)] {
            let mut reader = Reader::default();
            let (mut parsed_bytes, mut taken) = (0, 0);
            let last = text.bytes().map(|byte| {
                taken += 1;
                let before = reader.interim_bytes + reader.parsed_bytes;
                let parsed = reader.take(&[byte]);
                let is_new = reader.interim_bytes + reader.parsed_bytes != before;
                parsed_bytes += if is_new { reader.parsed_bytes } else { 0 };
                parsed
            });
            let last = last.into_iter().find(|parsed| *parsed != Parsed::Partial);
            assert_eq!(last, Some(Parsed::NotHttp));
            assert_eq!(taken, HEAD_BYTES_MAX);
            assert!(parsed_bytes < 32 * HEAD_BYTES_MAX, "{parsed_bytes}");
        }
    }

    #[test]
    fn a_length_has_digits_alone_and_a_name_of_a_server_is_escaped() {
        for (length, expected) in
            [("5", Some(5)), ("+5", None), ("-5", None), ("0x5", None), ("5 5", None), ("", None)]
        {
            let text = format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nServer: a\u{9b}\u{202e}b\r\n\r\n"
            );
            let head = head(&text);
            assert_eq!(head.content_length, expected, "{length}");
            assert_eq!(head.server.as_deref(), Some(r"a\u009b\u202eb"));
        }
    }

    /// RFC 9110 section 15.2.2: what follows 101 is another protocol, which was not asked for.
    #[test]
    fn switching_protocols_is_a_final_answer_without_a_length() {
        let head = head(
            "HTTP/1.1 101 Switching Protocols\r\nContent-Length: 5\r\n\r\nHTTP/1.1 200 OK\r\n",
        );
        assert_eq!((head.status, head.content_length), (101, None));
    }

    /// RFC 9112 sections 5.1 and 5.2.
    #[test]
    fn folded_fields_and_blanks_before_colons_are_read() {
        let head = head(
            "HTTP/1.1 301 Moved\r\nX: one;\r\n two\r\nLocation:\r\n\t/page\r\nServer : a\r\n  b\r\nno field\r\n\r\n",
        );
        assert_eq!(
            (head.location.as_deref(), head.server.as_deref()),
            (Some("/page"), Some("a b"))
        );
    }

    proptest! {
        /// However an answer is cut, each beginning is partial until the head is whole.
        #[test]
        fn a_head_is_partial_until_its_last_byte(
            interims in prop::collection::vec((100u16..200, 0usize..4), 0..4),
            fields in 0usize..200,
            folded in any::<bool>(),
        ) {
            let fold = if folded { "\r\n more" } else { "" };
            let field = |n: usize| format!("X-{n}: 1{fold}\r\n");
            let mut text = String::new();
            for (status, count) in interims.into_iter().filter(|(status, _)| *status != 101) {
                let fields: String = (0..count).map(field).collect();
                text += &format!("HTTP/1.1 {status} X\r\n{fields}\r\n");
            }
            let fields: String = (0..fields).map(field).collect();
            text += &format!("HTTP/1.1 200 OK\r\n{fields}Content-Length: 7\r\n\r\n");
            for cut in (0..text.len()).step_by(1 + text.len() / 50).chain([text.len() - 1]) {
                prop_assert_eq!(parse(&text.as_bytes()[..cut]), Parsed::Partial);
            }
            let mut reader = Reader::default();
            let heads = text.bytes().map(|byte| reader.take(&[byte]));
            let heads: Vec<Parsed> = heads.filter(|parsed| *parsed != Parsed::Partial).collect();
            let whole = head(&format!("{text}content"));
            prop_assert_eq!(&heads[..], &[Parsed::Complete(whole.clone())]);
            prop_assert_eq!((whole.status, whole.content_length), (200, Some(7)));
            prop_assert_eq!(whole.head_bytes, text.len());
        }
    }
}

use windlass_forward::protocol::{
    ANSWER_HEADER, Answer, REQUEST_HEADER, Request, TEXT_MAX, parse_host_port,
};
use windlass_forward::socks::message::{MESSAGE_MAX, parse_greeting, parse_request};

/// Whatever is accepted has one encoding, is bounded, and is read from a prefix only if it is whole.
pub(crate) fn run(bytes: &[u8]) {
    if let Some((header, text)) = bytes.split_first_chunk::<REQUEST_HEADER>()
        && let Ok(len) = Request::text_len(*header)
    {
        assert!(len <= TEXT_MAX);
        if let Some(text) = text.get(..len)
            && let Ok(request) = Request::decode(*header, text)
        {
            let again = request.encode().expect("a request that was read");
            let (header, text) = again.split_first_chunk::<REQUEST_HEADER>().expect("a header");
            assert_eq!(Request::decode(*header, text), Ok(request));
        }
    }
    if let Some((header, text)) = bytes.split_first_chunk::<ANSWER_HEADER>()
        && let Ok(len) = Answer::text_len(*header)
        && let Some(text) = text.get(..len)
        && let Ok(answer) = Answer::decode(*header, text)
    {
        assert_eq!(answer.encode(), [&header[..], text].concat());
        // A peer's text cannot control a terminal.
        if let Err(error) = answer.into_result() {
            assert!(!error.to_string().contains(char::is_control));
        }
    }
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Some((host, port)) = parse_host_port(text)
    {
        assert!(!host.is_empty() && port != 0);
    }
    if let Ok(Some((_, len))) = parse_greeting(bytes) {
        assert!(len <= bytes.len());
        assert_eq!(parse_greeting(&bytes[..len - 1]), Ok(None));
    }
    if let Ok(Some((request, len))) = parse_request(bytes) {
        assert!(len <= bytes.len().min(MESSAGE_MAX) && request.host.len() <= 255);
        assert_eq!(parse_request(&bytes[..len - 1]), Ok(None));
    }
}

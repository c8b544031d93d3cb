//! The target as a user names it, and the URLs that it may mean.

use crate::dialogue::{Dialogue, Exchange, Scheme};
use std::net::Ipv6Addr;
use url::Url;

/// A server as a user names it: a URL, or a host with a port or without.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The user's text.
    pub text: String,
    /// The URLs that it may mean, in the order in which to try them.
    pub candidates: Vec<Url>,
    /// The text has no scheme: an answer by another protocol then means that the guess was wrong.
    pub guessed: bool,
}

impl Target {
    /// Reads a URL, `HOST`, `HOST:PORT`, each with a path or without. Without a scheme it is a web server.
    ///
    /// # Errors
    ///
    /// The error says why the text is no target.
    pub fn parse(text: &str) -> Result<Target, String> {
        Target::parse_as(text, None)
    }

    /// The same, but a text without a scheme gets this one.
    ///
    /// # Errors
    ///
    /// The error says why the text is no target, or that it has another scheme.
    pub fn parse_as(text: &str, scheme: Option<Scheme>) -> Result<Target, String> {
        let text = text.trim();
        let guessed = !text.contains("://");
        let candidates = match (guessed, scheme) {
            (true, Some(scheme)) => {
                vec![parse_url(&format!("{}://{}", scheme.name, bracketed(text)))?]
            }
            (true, None) => guess(text)?,
            (false, _) => vec![parse_url(text)?],
        };
        let other = |url: &&Url| scheme.is_some_and(|scheme| url.scheme() != scheme.name);
        if let Some(url) = candidates.iter().find(other) {
            return Err(format!("{text:?}: the URL has another dialogue: {}", url.scheme()));
        }
        Ok(Target { text: text.to_owned(), candidates, guessed })
    }
}

fn parse_url(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| format!("{text:?}: {error}"))?;
    Dialogue::of(&url, "", &Exchange::default())?;
    Ok(url)
}

/// An IPv6 address alone has no brackets.
fn bracketed(text: &str) -> String {
    match text.parse::<Ipv6Addr>() {
        Ok(address) => format!("[{address}]"),
        Err(_) => text.to_owned(),
    }
}

/// The ports at which a web server may listen, the likeliest first.
fn guess(text: &str) -> Result<Vec<Url>, String> {
    let text = bracketed(text);
    let http = parse_url(&format!("http://{text}"))?;
    let https = parse_url(&format!("https://{text}"))?;
    let authority = text.split(['/', '?', '#']).next().unwrap_or_default();
    let has_port = authority.rsplit(']').next().is_some_and(|end| end.contains(':'));
    if has_port {
        let tls_first = matches!(https.port_or_known_default(), Some(443 | 8443));
        return Ok(if tls_first { vec![https, http] } else { vec![http, https] });
    }
    let at = |url: &Url, port: u16| {
        let mut url = url.clone();
        url.set_port(Some(port)).ok().map(|()| url)
    };
    let others = [at(&http, 8080), at(&https, 8443)].into_iter().flatten();
    Ok([http.clone(), https.clone()].into_iter().chain(others).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates(text: &str) -> Vec<String> {
        let target = Target::parse(text).expect(text);
        target.candidates.into_iter().map(String::from).collect()
    }

    #[test]
    fn a_url_means_itself_and_a_host_all_ports_of_the_web() {
        assert_eq!(candidates("https://a.example:8443/b?c"), ["https://a.example:8443/b?c"]);
        assert_eq!(
            candidates("a.example/b"),
            [
                "http://a.example/b",
                "https://a.example/b",
                "http://a.example:8080/b",
                "https://a.example:8443/b"
            ]
        );
        assert_eq!(candidates("a.example:81"), ["http://a.example:81/", "https://a.example:81/"]);
        assert_eq!(
            candidates("a.example:8443/x"),
            ["https://a.example:8443/x", "http://a.example:8443/x"]
        );
        assert_eq!(candidates("2001:db8::1")[0], "http://[2001:db8::1]/");
        assert_eq!(candidates("[2001:db8::1]:81").len(), 2);
        assert_eq!(candidates("192.0.2.1").len(), 4);
    }

    #[test]
    fn a_bad_target_is_refused() {
        for text in [
            "",
            "gopher://a.example/",
            "tcp://a.example/",
            "http://",
            "a b",
            "http://a.example:0/",
            "a:99999",
        ] {
            assert!(Target::parse(text).is_err(), "{text:?}");
        }
    }
}

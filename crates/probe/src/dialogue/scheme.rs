//! The URL schemes of the dialogues: their ports, where TLS begins, and what the rest of a URL means.

use super::talk::{Asked, decode};
use super::{Dialogue, Exchange};
use super::{bittorrent, ftp, http, imap, nntp, plain, redis, rsync, smtp, ssh};
use url::Url;

type Begin = fn(&Asked<'_>) -> Result<Dialogue, &'static str>;

/// A URL scheme that names a dialogue.
#[derive(Copy, Clone, Debug)]
pub struct Scheme {
    /// As in a URL.
    pub name: &'static str,
    /// The port without another one in the URL; `None`: the URL must name it.
    pub port: Option<u16>,
    /// TLS comes before the dialogue.
    pub tls: bool,
    dialogue: Begin,
}

const fn scheme(name: &'static str, port: u16, tls: bool, dialogue: Begin) -> Scheme {
    Scheme { name, port: if port == 0 { None } else { Some(port) }, tls, dialogue }
}

const SCHEMES: [Scheme; 18] = [
    scheme("http", 80, false, http::dialogue),
    scheme("https", 443, true, http::dialogue),
    scheme("ftp", 21, false, ftp::dialogue),
    scheme("smtp", 25, false, smtp::dialogue),
    scheme("smtp+starttls", 25, false, smtp::dialogue),
    scheme("smtps", 465, true, smtp::dialogue),
    scheme("imap", 143, false, imap::dialogue),
    scheme("imap+starttls", 143, false, imap::dialogue),
    scheme("imaps", 993, true, imap::dialogue),
    scheme("nntp", 119, false, nntp::dialogue),
    scheme("nntp+starttls", 119, false, nntp::dialogue),
    scheme("nntps", 563, true, nntp::dialogue),
    scheme("ssh", 22, false, ssh::dialogue),
    scheme("rsync", 873, false, rsync::dialogue),
    scheme("redis", 6379, false, redis::dialogue),
    scheme("bittorrent", 0, false, bittorrent::dialogue),
    scheme("tcp", 0, false, plain::dialogue),
    scheme("tls", 0, true, plain::dialogue),
];

/// The names of all schemes.
pub const NAMES: [&str; SCHEMES.len()] = {
    let mut names = [""; SCHEMES.len()];
    let mut index = 0;
    while index < SCHEMES.len() {
        names[index] = SCHEMES[index].name;
        index += 1;
    }
    names
};

impl Scheme {
    /// The scheme of this name.
    pub fn by_name(name: &str) -> Option<Scheme> {
        SCHEMES.into_iter().find(|scheme| scheme.name == name)
    }

    /// The scheme of a URL.
    pub(crate) fn of(url: &Url) -> Option<Scheme> {
        Scheme::by_name(url.scheme())
    }

    /// The port of a URL, its own or the scheme's.
    pub(crate) fn port_of(url: &Url) -> Option<u16> {
        url.port().or_else(|| Scheme::of(url)?.port)
    }
}

impl Dialogue {
    /// The dialogue of a URL. `user_agent` is for HTTP, `exchange` for `tcp` and `tls`.
    ///
    /// # Errors
    ///
    /// The error says what is wrong with the URL.
    pub fn of(url: &Url, user_agent: &str, exchange: &Exchange) -> Result<Dialogue, String> {
        let wrong = |what: &str| format!("{:?}: {what}", url.as_str());
        let Some(scheme) = Scheme::of(url) else {
            let names = NAMES.join(", ");
            return Err(wrong(&format!("expected one of {names}, found {}", url.scheme())));
        };
        if !url.has_host() || url.host_str() == Some("") {
            return Err(wrong("no host to connect to"));
        }
        if Scheme::port_of(url).is_none_or(|port| port == 0) {
            return Err(wrong("no port to connect to: write HOST:PORT"));
        }
        let path = decode(url.path().strip_prefix('/').unwrap_or_default());
        let starttls = scheme.name.ends_with("+starttls");
        (scheme.dialogue)(&Asked { url, path, starttls, user_agent, exchange }).map_err(wrong)
    }
}

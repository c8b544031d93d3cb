//! The URL schemes of the dialogues: their ports, where TLS begins, and what the rest of a URL means.

use super::{Dialogue, Exchange};
use crate::http;
use percent_encoding::percent_decode_str;
use url::Url;

/// A URL scheme that names a dialogue.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Scheme {
    /// As in a URL.
    pub name: &'static str,
    /// The port without another one in the URL; `None`: the URL must name it.
    pub port: Option<u16>,
    /// TLS comes before the dialogue.
    pub tls: bool,
}

const fn scheme(name: &'static str, port: u16, tls: bool) -> Scheme {
    Scheme { name, port: if port == 0 { None } else { Some(port) }, tls }
}

const SCHEMES: [Scheme; 18] = [
    scheme("http", 80, false),
    scheme("https", 443, true),
    scheme("ftp", 21, false),
    scheme("smtp", 25, false),
    scheme("smtp+starttls", 25, false),
    scheme("smtps", 465, true),
    scheme("imap", 143, false),
    scheme("imap+starttls", 143, false),
    scheme("imaps", 993, true),
    scheme("nntp", 119, false),
    scheme("nntp+starttls", 119, false),
    scheme("nntps", 563, true),
    scheme("ssh", 22, false),
    scheme("rsync", 873, false),
    scheme("redis", 6379, false),
    scheme("bittorrent", 0, false),
    scheme("tcp", 0, false),
    scheme("tls", 0, true),
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
    pub fn of(url: &Url) -> Option<Scheme> {
        Scheme::by_name(url.scheme())
    }

    /// The port of a URL, its own or the scheme's.
    pub fn port_of(url: &Url) -> Option<u16> {
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
        let wrong = |what: &str| Err(format!("{:?}: {what}", url.as_str()));
        let Some(scheme) = Scheme::of(url) else {
            let names = NAMES.join(", ");
            return wrong(&format!("expected one of {names}, found {}", url.scheme()));
        };
        if !url.has_host() || url.host_str() == Some("") {
            return wrong("no host to connect to");
        }
        if Scheme::port_of(url).is_none_or(|port| port == 0) {
            return wrong("no port to connect to: write HOST:PORT");
        }
        // The end of a line would begin another command.
        let decode = |text: &str| {
            let text = percent_decode_str(text).decode_utf8_lossy().into_owned();
            (!text.contains(|c: char| c.is_control())).then_some(text)
        };
        let path = decode(url.path().strip_prefix('/').unwrap_or_default());
        let starttls = scheme.name.ends_with("+starttls");
        Ok(match scheme.name {
            "http" | "https" => Dialogue::Http { request: http::request(url, user_agent) },
            "ftp" => {
                let anonymous = url.username().is_empty();
                let user = if anonymous { "anonymous" } else { url.username() };
                let password = url.password().unwrap_or("windlass-probe@");
                match (decode(user), decode(password), path) {
                    (Some(user), Some(password), Some(path)) => {
                        Dialogue::Ftp { user, password, path }
                    }
                    _ => return wrong("a control character"),
                }
            }
            "rsync" | "nntp" | "nntp+starttls" | "nntps" => match path {
                Some(path) if scheme.name == "rsync" => Dialogue::Rsync { path },
                Some(path) => Dialogue::Nntp { path, starttls },
                None => return wrong("a control character"),
            },
            "bittorrent" => match path.as_deref().and_then(info_hash) {
                Some(info_hash) => Dialogue::BitTorrent { info_hash },
                None => {
                    return wrong(
                        "expected bittorrent://HOST:PORT/INFOHASH, 40 hexadecimal digits",
                    );
                }
            },
            "ssh" => Dialogue::Ssh,
            "redis" => Dialogue::Redis,
            "tcp" | "tls" => Dialogue::Plain(exchange.clone()),
            other if other.starts_with("imap") => Dialogue::Imap { starttls },
            _ => Dialogue::Smtp { starttls },
        })
    }
}

fn info_hash(text: &str) -> Option<[u8; 20]> {
    let mut hash = [0; 20];
    if text.len() != 40 || !text.is_ascii() {
        return None;
    }
    for (at, byte) in hash.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(hash)
}

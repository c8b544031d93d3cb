//! The host of a URL: no two programs may read it differently.

use url::Url;
use windlass_base::address::parse_host;

/// Refuses a URL whose host is no strict address and no name. The URL parser reads 010.0.0.1 as 8.0.0.1
/// where the scheme is one of the web's, so the host has to stand so in the `text` of the URL.
///
/// # Errors
///
/// The error says what is wrong with the host.
pub(crate) fn check_host(url: &Url, text: &str) -> Result<(), String> {
    match url.host() {
        Some(url::Host::Domain(name)) => parse_host(name).map(|_| ()).map_err(String::from),
        Some(url::Host::Ipv4(address)) => {
            let written = written_host(text);
            if written == Some(&address.to_string()) {
                return Ok(());
            }
            let why = written.and_then(|host| parse_host(host).err());
            Err(why.map_or_else(|| format!("{text:?}: write the host as {address}"), String::from))
        }
        Some(url::Host::Ipv6(_)) | None => Ok(()),
    }
}

/// The host in the text of a URL, or of a reference that begins with `//` (RFC 3986 section 4.2).
pub(crate) fn written_host(text: &str) -> Option<&str> {
    let (scheme, rest) = text.split_once("//")?;
    let authority = rest.split(['/', '?', '#', '\\']).next()?;
    let host_port = authority.rsplit('@').next()?;
    let host = host_port.split(':').next()?;
    (scheme.is_empty() || scheme.ends_with(':')).then_some(host)
}

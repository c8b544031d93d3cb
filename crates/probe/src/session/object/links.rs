//! The links of a page to other objects of its server, those that are likely large first.

use html5gum::Tokenizer;
use html5gum::emitters::default::{DefaultEmitter, StartTag, Token};
use std::collections::BTreeSet;
use url::Url;

/// Links that are considered.
const LINKS_MAX: usize = 32;
/// A longer path is rather a program's than a file's.
const PATH_BYTES_MAX: usize = 512;

/// Extensions of files that are often large, the likeliest first.
const LARGE: [&[&str]; 3] = [
    &[
        "7z", "apk", "avi", "bin", "bz2", "deb", "dmg", "exe", "flac", "gz", "img", "iso", "jar",
        "m4a", "m4v", "mkv", "mov", "mp3", "mp4", "mpeg", "mpg", "msi", "ogg", "ogv", "pdf", "rar",
        "rpm", "tar", "tgz", "wav", "webm", "xz", "zip", "zst",
    ],
    &[
        "avif", "bmp", "doc", "docx", "epub", "gif", "jpeg", "jpg", "png", "ppt", "pptx", "ps",
        "svg", "tif", "tiff", "webp", "xls", "xlsx",
    ],
    &["css", "csv", "js", "json", "mjs", "otf", "ttf", "txt", "wasm", "woff", "woff2", "xml"],
];

/// Words in the paths of links that do something.
const ACTIONS: [&str; 9] = [
    "delete",
    "log-off",
    "log-out",
    "logoff",
    "logout",
    "remove",
    "sign-out",
    "signout",
    "unsubscribe",
];

/// The links to objects of the same scheme, host and port, each once. None has a query.
pub(super) fn of(html: &[u8], page: &Url) -> Vec<Url> {
    let mut base = page.clone();
    let mut seen = BTreeSet::from([page.path().to_owned()]);
    let mut links = Vec::new();
    let mut emitter = DefaultEmitter::default();
    // The text of scripts and styles has no tags.
    emitter.naively_switch_states(true);
    for Ok(token) in Tokenizer::new_with_emitter(html, emitter) {
        let Token::StartTag(tag) = token else { continue };
        if let Some(href) = attribute(&tag, "href").filter(|_| **tag.name == *b"base") {
            base = page.join(&href).unwrap_or(base);
        }
        let Some(mut link) = target(&tag).and_then(|text| base.join(&text).ok()) else { continue };
        link.set_fragment(None);
        if is_object(&link, page) && seen.insert(link.path().to_owned()) {
            links.push(link);
        }
    }
    // A stable sort: those of a kind stay in the order of the page.
    links.sort_by_key(rank);
    links.truncate(LINKS_MAX);
    links
}

/// The text of the link in a tag. Links with `rel=nofollow` are not followed.
fn target(tag: &StartTag<()>) -> Option<String> {
    let name = match tag.name.as_slice() {
        b"a" | b"link" => "href",
        b"img" | b"script" | b"source" => "src",
        _ => return None,
    };
    let rel = attribute(tag, "rel").unwrap_or_default().to_ascii_lowercase();
    attribute(tag, name).filter(|_| !rel.split_ascii_whitespace().any(|word| word == "nofollow"))
}

fn attribute(tag: &StartTag<()>, name: &str) -> Option<String> {
    let value = tag.attributes.get(name.as_bytes())?;
    Some(String::from_utf8_lossy(value.value.as_slice()).into_owned())
}

fn is_object(link: &Url, page: &Url) -> bool {
    let path = link.path().to_ascii_lowercase();
    link.origin() == page.origin()
        && link.query().is_none()
        && path.len() <= PATH_BYTES_MAX
        && !ACTIONS.iter().any(|word| path.contains(word))
}

/// The position of the link's kind in [`LARGE`]; other links come last.
fn rank(link: &Url) -> usize {
    let name = link.path().rsplit('/').next().unwrap_or_default();
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let extension = extension.to_ascii_lowercase();
    LARGE.iter().position(|kind| kind.contains(&extension.as_str())).unwrap_or(LARGE.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn links(html: &str) -> Vec<String> {
        let page = Url::parse("http://a.example:81/dir/page").expect("a URL");
        of(html.as_bytes(), &page).into_iter().map(String::from).collect()
    }

    #[test]
    fn files_that_are_often_large_come_first() {
        let html = "<link rel=stylesheet href=/s.css><a href='next'>n</a><img src=p.JPG>\
                    <SCRIPT src='s.js'>'<a href=no.iso>'</script><a href=\"/i/b.iso#x\">b</a>\
                    <picture><source src=../a.webm></picture><a href=/i/b.iso>again</a>";
        let expected = ["i/b.iso", "a.webm", "dir/p.JPG", "s.css", "dir/s.js", "dir/next"];
        assert_eq!(links(html), expected.map(|path| format!("http://a.example:81/{path}")));
    }

    #[test]
    fn a_base_changes_where_relative_links_lead() {
        let html = "<base href='/files/'><a href=a.zip>a</a>";
        assert_eq!(links(html), ["http://a.example:81/files/a.zip"]);
        assert!(links("<base href='http://b.example/'><a href=a.zip>a</a>").is_empty());
    }

    #[test]
    fn links_to_other_servers_programs_and_actions_are_left_alone() {
        for link in [
            "https://a.example:81/a.iso",
            "http://a.example/a.iso",
            "http://b.example:81/a.iso",
            "//b.example/a.iso",
            "/a.iso?x",
            "/a.iso?",
            "page#top",
            "/user/logout",
            "/Sign-Out.iso",
            "mailto:a@a.example",
            "data:text/plain,x",
            "javascript:x()",
            "http://[",
        ] {
            assert!(links(&format!("<a href=\"{link}\">x</a>")).is_empty(), "{link}");
        }
        assert!(links("<a rel='x NoFollow' href=/a.iso>").is_empty());
        assert!(links("<!-- <a href=/a.iso> --><p title='<a href=/b.iso>'>").is_empty());
    }

    proptest! {
        #[test]
        fn any_page_has_links_to_its_own_server_only(
            parts in prop::collection::vec(prop_oneof![
                prop::collection::vec(any::<u8>(), 0..30),
                prop::sample::select(vec![
                    "<a href=", "<base href=", "<script>", "</script>", "<img src='", "'>", ">", "http://",
                    "//b", "a.example:81", "/", "?", "#", "<!--", "-->", "&#x2f;", ".iso", "%2e%2e/",
                ])
                .prop_map(|text| text.as_bytes().to_vec()),
            ], 0..60),
        ) {
            let page = Url::parse("http://a.example:81/dir/page").expect("a URL");
            let found = of(&parts.concat(), &page);
            prop_assert!(found.len() <= LINKS_MAX);
            for link in found {
                prop_assert_eq!(link.origin(), page.origin());
                prop_assert!(link.query().is_none() && link.fragment().is_none());
                prop_assert!(link.path().starts_with('/') && link.path() != page.path());
            }
        }
    }
}

use super::*;
use crate::http::{Head, USER_AGENT};
use crate::topic::Ending;
use crate::topic::read::Body;

const ENOUGH: u64 = 80_000;

fn answer(status: u16, content_length: Option<u64>, text: &str) -> Report {
    let head = Head { status, content_length, is_html: true, head_bytes: 100, ..Head::default() };
    let body = Body { begin: text.as_bytes().to_vec(), bytes: text.len() as u64, is_whole: true };
    Report { head: Some(head), body: Some(body), ..Report::new(Ending::HeadRead) }
}

fn page(text: &str) -> Found {
    let url = Url::parse("http://192.0.2.1/").expect("a URL");
    let remote = ([192, 0, 2, 1], 80).into();
    Found { url, remote, scout: answer(200, Some(text.len() as u64), text) }
}

const PAGE: &str = "<a href=a.html>a</a><a href=b.iso>b</a><a href=c.png>c</a><a href=d.js>d</a>";

/// The paths that a search asks for, and its choice, with answers by path.
fn search(text: &str, answers: &[(&str, Report)]) -> (Vec<String>, Object) {
    let mut search = Search::new(&page(text), ENOUGH, USER_AGENT).expect("too small");
    let mut asked = Vec::new();
    while let Some((url, purpose)) = search.next() {
        let wanted = match url.path() {
            "/robots.txt" => Purpose::Read(ReadOrder::Text),
            _ => Purpose::Scout,
        };
        assert_eq!(purpose, wanted, "{url}");
        asked.push(url.path().to_owned());
        let found = answers.iter().find(|(path, _)| *path == url.path());
        search.handle_report(
            found.map_or_else(|| answer(404, None, ""), |(_, report)| report.clone()),
        );
    }
    (asked, search.choose(true))
}

#[test]
fn the_first_link_that_is_large_enough_is_measured() {
    let (asked, object) = search(PAGE, &[("/c.png", answer(200, Some(90_000), ""))]);
    assert_eq!(asked, ["/robots.txt", "/b.iso", "/c.png"]);
    assert_eq!((object.found.url.path(), object.repeats), ("/c.png", 1));
    assert!(object.why.contains("has 176 bytes, too few"), "{}", object.why);
    assert!(object.why.ends_with("c.png of 90100 bytes is measured"), "{}", object.why);
}

#[test]
fn five_requests_are_all_and_the_largest_object_is_asked_for_several_times() {
    let five = format!("{PAGE}<a href=e.css>");
    let answers =
        [("/c.png", answer(200, Some(19_900), "")), ("/d.js", answer(200, Some(900), ""))];
    let (asked, object) = search(&five, &answers);
    assert_eq!(asked, ["/robots.txt", "/b.iso", "/c.png", "/d.js"], "and the page");
    assert_eq!((object.found.url.path(), object.repeats), ("/c.png", 4));
    assert!(object.why.ends_with("each connection asks for it 4 times"), "{}", object.why);
    // Requests for bursts are never repeated.
    let search = Search::new(&page(PAGE), ENOUGH, USER_AGENT).expect("too small");
    assert_eq!(search.choose(false).repeats, 1);
}

#[test]
fn what_robots_txt_forbids_is_not_asked_for() {
    let rules = answer(200, None, "User-agent: *\nDisallow: /\nAllow: /d.js");
    let (asked, object) = search(PAGE, &[("/robots.txt", rules)]);
    assert_eq!(asked, ["/robots.txt", "/d.js"]);
    assert_eq!((object.found.url.path(), object.repeats), ("/", 100), "the page has 176 bytes");
    let (asked, _) = search(PAGE, &[("/robots.txt", Report::new(Ending::Reset))]);
    assert_eq!(asked, ["/robots.txt"]);
}

#[test]
fn a_page_without_links_costs_no_further_request_and_a_large_one_needs_no_search() {
    let (asked, object) = search("<p>x", &[]);
    assert!(asked.is_empty());
    assert_eq!(object.found.url.path(), "/");
    let mut large = page(PAGE);
    large.scout = answer(200, Some(ENOUGH), PAGE);
    assert!(Search::new(&large, ENOUGH, USER_AGENT).is_none());
    // A body of unknown length counts as far as it was read.
    large.scout = answer(200, None, &"x".repeat(ENOUGH as usize));
    assert!(Search::new(&large, ENOUGH, USER_AGENT).is_none());
    large.scout = answer(200, None, PAGE);
    assert!(Search::new(&large, ENOUGH, USER_AGENT).is_some());
    if let Some(body) = &mut large.scout.body {
        body.is_whole = false;
    }
    assert!(Search::new(&large, ENOUGH, USER_AGENT).is_none(), "it came slowly");
    // The page of an error is not searched.
    large.scout = answer(404, Some(100), PAGE);
    let search = Search::new(&large, ENOUGH, USER_AGENT).expect("too small");
    assert!(search.next().is_none());
}

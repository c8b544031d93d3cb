//! `windlass probe` finds something large on a server whose page is small. nginx serves, in a namespace.
#![cfg(target_os = "linux")]

use serde_json::Value;
use std::fs;
use std::net::TcpStream;
use std::path::PathBuf;
use windlass_testbed::{Background, Namespace, Need, skip_unless, text, unique, wait_until};

const CONFIGURATION: &str = "\
daemon off; master_process off; user root; pid FOLDER/pid; error_log FOLDER/error.log;
events {}
http {
  types { text/html html; } default_type application/octet-stream;
  log_format path $request_uri; access_log FOLDER/access.log path;
  client_body_temp_path FOLDER/a; proxy_temp_path FOLDER/b; fastcgi_temp_path FOLDER/c;
  uwsgi_temp_path FOLDER/d; scgi_temp_path FOLDER/e;
  server { listen 127.0.0.1:80; root FOLDER/www; }
}
";

/// A small page, and a large file.
const PAGE: &str =
    "<a href='/other'>a</a><a href='large.iso'>b</a><img src='http://elsewhere/large.iso'>";
const LARGE_BYTES: usize = 300_000;

fn skipped() -> bool {
    skip_unless(&[Need::Root, Need::Program("ip"), Need::Program("nginx")])
}

struct Site {
    namespace: Namespace,
    folder: PathBuf,
    _server: Background,
}

impl Site {
    /// A server whose page is `page`, with a robots.txt or without.
    fn new(page: &str, robots: Option<&str>) -> Site {
        let (namespace, folder) = (Namespace::new("wpo"), std::env::temp_dir().join(unique("wpo")));
        let www = folder.join("www");
        fs::create_dir_all(&www).expect("a folder");
        fs::write(www.join("index.html"), page).expect("written");
        fs::write(www.join("large.iso"), vec![b'x'; LARGE_BYTES]).expect("written");
        if let Some(robots) = robots {
            fs::write(www.join("robots.txt"), robots).expect("written");
        }
        let configuration = CONFIGURATION.replace("FOLDER", &folder.to_string_lossy());
        fs::write(folder.join("conf"), configuration).expect("written");
        namespace.ip("link set lo up");
        let mut command = namespace.command("nginx");
        command.arg("-c").arg(folder.join("conf"));
        let server = Background::start(command);
        let listens = || namespace.inside(|| TcpStream::connect("127.0.0.1:80").is_ok());
        wait_until("nginx listens", listens);
        Site { namespace, folder, _server: server }
    }

    /// The outcome of a measurement: two runs of each of two tests.
    fn probe(&self, more: &[&str]) -> Value {
        let mut command = self.namespace.command(env!("CARGO_BIN_EXE_windlass"));
        command.args(["probe", "http://127.0.0.1/", "--json", "--tests", "A,C", "--runs", "2"]);
        let output = command.args(["--timeout", "100ms"]).args(more).output().expect("starts");
        let stderr = text(&output.stderr);
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {stderr}"))
    }

    /// How often nginx was asked for a path, once it has been so at least this often.
    fn asked(&self, path: &str, at_least: usize) -> usize {
        let count = || {
            let log = fs::read_to_string(self.folder.join("access.log")).unwrap_or_default();
            log.lines().filter(|line| *line == path).count()
        };
        wait_until("nginx logs the requests", || count() >= at_least);
        count()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn first_note(outcome: &Value) -> &str {
    outcome["verdict"]["notes"][0].as_str().unwrap_or_default()
}

fn endings(outcome: &Value) -> Vec<&str> {
    let runs = outcome["runs"].as_array().into_iter().flatten();
    runs.filter_map(|run| run["ending"]["kind"].as_str()).collect()
}

#[test]
fn a_small_page_that_links_a_large_file_leads_to_the_file() {
    if skipped() {
        return;
    }
    let site = Site::new(PAGE, None);
    let outcome = site.probe(&[]);
    assert_eq!(outcome["url"], "http://127.0.0.1/large.iso", "{outcome}");
    assert_eq!(outcome["content_length"], LARGE_BYTES, "{outcome}");
    assert_eq!(endings(&outcome), ["measured"; 4], "{outcome}");
    let note = first_note(&outcome);
    assert!(note.contains("too few for the tests; its link http://127.0.0.1/large.iso"), "{note}");
    // The search, and the four runs.
    assert_eq!(site.asked("/large.iso", 5), 5);
    let others = ["/", "/robots.txt", "/other"].map(|path| site.asked(path, 0));
    assert_eq!(others, [1, 1, 0]);
}

#[test]
fn a_file_that_robots_txt_forbids_is_left_alone() {
    if skipped() {
        return;
    }
    let site =
        Site::new(PAGE, Some("User-agent: windlass-probe\nDisallow: /large\nDisallow: /oth*r$\n"));
    let outcome = site.probe(&[]);
    assert_eq!(outcome["url"], "http://127.0.0.1/", "{outcome}");
    assert_eq!(endings(&outcome), ["measured"; 4], "{outcome}");
    let note = first_note(&outcome);
    assert!(note.contains("no permitted link") && note.contains("each connection asks"), "{note}");
    assert!(outcome["verdict"]["initial_window"]["packets"].as_u64() > Some(2), "{outcome}");
    assert!(site.asked("/", 5) > 5);
    assert_eq!(["/robots.txt", "/large.iso", "/other"].map(|path| site.asked(path, 0)), [1, 0, 0]);
}

#[test]
fn a_page_without_links_is_asked_for_again_and_again_unless_forbidden() {
    if skipped() {
        return;
    }
    let site = Site::new("<p>Nothing here.", None);
    let outcome = site.probe(&["--no-search"]);
    assert_eq!(endings(&outcome), ["too-short"; 3], "{outcome}");
    assert_eq!(site.asked("/", 4), 4, "the scout, and three runs");
    let outcome = site.probe(&[]);
    assert_eq!(endings(&outcome), ["measured"; 4], "{outcome}");
    assert!(site.asked("/", 9) > 9);
    assert_eq!(site.asked("/robots.txt", 0), 0);
}

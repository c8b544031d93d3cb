//! Programs that do not know ToU: what they transfer arrives intact, and their exit status too.

use super::servers::{self, Folder, HTTP, HTTPS, INTRANET, PAYLOAD, POSTGRES, SSH};
use super::{behind_nats, finish, sha256};
use crate::cell::{Cell, cannot_run};
use std::process::{Command, Stdio};
use std::time::Duration;
use windlass_testbed::{Background, Need, skip_unless, text, wait_until};

/// The ports of `forward` at the asking host.
const FORWARDED: [(u16, &str); 4] =
    [(7022, "ssh"), (7080, "http"), (7443, "https"), (7432, "postgres")];
/// Connections at once.
const CONNECTIONS: usize = 200;

/// Two hosts behind NATs; the second one has servers and exposes them.
pub(super) struct Stage {
    pub(super) cell: Cell,
    pub(super) folder: Folder,
    pub(super) servers: Vec<Background>,
}

impl Stage {
    /// Starts `expose` for all servers.
    pub(super) fn expose(&mut self) {
        let services = [("ssh", SSH), ("http", HTTP), ("https", HTTPS), ("postgres", POSTGRES)];
        let services = services.map(|(name, port)| format!("{name}=127.0.0.1:{port}"));
        let mut arguments: Vec<&str> = services.iter().map(String::as_str).collect();
        let network = format!("{INTRANET}/32");
        arguments.extend(["--exit", &network]);
        self.cell.expose(true, &arguments);
    }

    /// A command of the asking host.
    pub(super) fn command(&self, program: &str) -> Command {
        self.cell.crossing.hosts[0].command(program)
    }

    /// The options of ssh and scp, which reach the other host through `pipe`.
    pub(super) fn ssh_options(&self) -> Vec<String> {
        let pipe = self.cell.command(0, "pipe");
        // nsenter has put ssh into the namespace already.
        let words = pipe.get_args().skip(1).map(|word| word.to_str().expect("UTF-8"));
        let pipe: Vec<&str> = words.collect();
        [
            "-F".to_owned(),
            "/dev/null".to_owned(),
            "-i".to_owned(),
            self.folder.path("user_key"),
            "-oBatchMode=yes".to_owned(),
            "-oStrictHostKeyChecking=no".to_owned(),
            "-oLogLevel=ERROR".to_owned(),
            format!("-oUserKnownHostsFile={}", self.folder.path("known_hosts")),
            format!("-oProxyCommand={} {}", pipe.join(" "), self.cell.service("ssh")),
        ]
        .into()
    }

    pub(super) fn ssh(&self, remote: &str) -> Command {
        let mut command = self.command("ssh");
        command.args(self.ssh_options()).args(["root@b", remote]);
        command
    }

    /// The shell command by which rsync and git start ssh.
    fn ssh_as_one_word(&self) -> String {
        let quoted = self.ssh_options().into_iter().map(|word| format!("'{word}'"));
        format!("ssh {}", quoted.collect::<Vec<_>>().join(" "))
    }

    pub(super) fn forward(&self) -> Background {
        let mut command = self.cell.command(0, "forward");
        for (port, service) in FORWARDED {
            command.arg(format!("{port}={}", self.cell.service(service)));
        }
        command.stdout(Stdio::null());
        let forward = Background::start(command);
        let host = &self.cell.crossing.hosts[0];
        let listens =
            || host.inside(|| std::net::TcpStream::connect(("127.0.0.1", FORWARDED[1].0)).is_ok());
        wait_until("forward listens", listens);
        forward
    }

    pub(super) fn run(&self, command: &[&str]) -> Command {
        let mut run = self.cell.command(0, "run");
        run.args(["--to", &self.cell.key(), "--"]).args(command);
        run
    }

    fn curl(&self, arguments: &[&str]) -> Command {
        let mut command = self.command("curl");
        command.args(["--silent", "--show-error", "--fail"]).args(arguments);
        command
    }
}

/// The exposing host with its servers.
pub(super) fn stage(delay: &str, loss: f64) -> Stage {
    let folder = Folder::new();
    let cell = behind_nats(delay, loss);
    let host = &cell.crossing.hosts[1];
    let servers = vec![servers::start_sshd(host, &folder), servers::start_nginx(host, &folder)];
    let mut stage = Stage { cell, folder, servers };
    stage.expose();
    stage
}

pub(super) fn lacks_programs() -> bool {
    let programs = ["/usr/sbin/sshd", "ssh", "/usr/sbin/nginx", "openssl", "rsync", "git", "curl"];
    cannot_run()
        || skip_unless(&programs.map(Need::Program))
        || skip_unless(&["psql", "runuser", "go"].map(Need::Program))
}

#[test]
#[ignore = "takes two minutes: make verify-tou"]
fn programs_as_they_are_transfer_intact_data() {
    if lacks_programs() {
        return;
    }
    let mut stage = stage("20ms", 0.01);
    let postgres = servers::start_postgres(&stage.cell.crossing.hosts[1], &stage.folder);
    stage.servers.push(postgres);
    let mut table = Table(vec![]);
    through_pipe(&stage, &mut table);
    let forward = stage.forward();
    through_forward(&stage, &mut table);
    drop(forward);
    through_run(&stage, &mut table);
    println!("{}", table.markdown());
}

/// A row for each program: what it did, and its time.
struct Table(Vec<(String, Duration)>);

impl Table {
    fn add(&mut self, what: &str, time: Duration) {
        eprintln!("{what}: {:.1} s", time.as_secs_f64());
        self.0.push((what.to_owned(), time));
    }

    fn markdown(&self) -> String {
        let row =
            |(what, time): &(String, Duration)| format!("| {what} | {:.1} |\n", time.as_secs_f64());
        let rows: String = self.0.iter().map(row).collect();
        format!("| program | time (s) |\n|---|---:|\n{rows}")
    }
}

fn through_pipe(stage: &Stage, table: &mut Table) {
    let expected = sha256(&stage.folder.read("payload"));
    let payload = stage.folder.path("payload");
    let (printed, time) = finish(stage.ssh(&format!("cat {payload}")));
    assert_eq!(sha256(&printed), expected);
    table.add("ssh, `cat` of 2 MB", time);

    let status = stage.ssh("exit 7").status().expect("starts");
    assert_eq!(status.code(), Some(7), "the status of the remote command");

    for (from, to) in [("root@b:", ""), ("", "root@b:")] {
        let copy = stage.folder.path("copied");
        let mut scp = stage.command("scp");
        scp.args(stage.ssh_options()).args([format!("{from}{payload}"), format!("{to}{copy}")]);
        let (_, time) = finish(scp);
        assert_eq!(sha256(&stage.folder.read("copied")), expected);
        std::fs::remove_file(copy).expect("copied");
        table.add(if to.is_empty() { "scp from there" } else { "scp to there" }, time);
    }

    let mut rsync = stage.command("rsync");
    rsync.args(["-a", "--rsh", &stage.ssh_as_one_word()]);
    rsync.args([format!("root@b:{payload}"), stage.folder.path("synchronized")]);
    let (_, time) = finish(rsync);
    assert_eq!(sha256(&stage.folder.read("synchronized")), expected);
    table.add("rsync", time);
    git_clone(stage, &expected, table);
}

fn git_clone(stage: &Stage, expected: &str, table: &mut Table) {
    let repository = stage.folder.path("repository");
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.args(["-C", &repository, "-c", "user.name=t", "-c", "user.email=t@example.org"]);
        command.args(arguments);
        finish(command);
    };
    std::fs::create_dir(&repository).expect("a new folder");
    git(&["init", "--quiet"]);
    std::fs::copy(stage.folder.path("payload"), format!("{repository}/payload")).expect("room");
    git(&["add", "payload"]);
    git(&["commit", "--quiet", "--message", "A payload"]);
    let mut clone = stage.command("git");
    clone.env("GIT_SSH_COMMAND", stage.ssh_as_one_word());
    clone.args(["clone", "--quiet", &format!("root@b:{repository}"), &stage.folder.path("clone")]);
    let (_, time) = finish(clone);
    assert_eq!(sha256(&stage.folder.read("clone/payload")), expected);
    table.add("git clone", time);
}

fn through_forward(stage: &Stage, table: &mut Table) {
    let expected = sha256(&stage.folder.read("payload"));
    let web = [
        ("--http1.1", "http://127.0.0.1:7080/payload", "1.1", "curl, HTTP/1.1"),
        ("--http2", "https://127.0.0.1:7443/payload", "2", "curl, HTTP/2 over TLS"),
    ];
    for (version, url, spoken, name) in web {
        let file = stage.folder.path("fetched");
        let arguments =
            ["--insecure", version, "--output", &file, "--write-out", "%{http_version}"];
        let mut curl = stage.curl(&arguments);
        curl.arg(url);
        let (printed, time) = finish(curl);
        assert_eq!(text(&printed), spoken, "the version of HTTP");
        assert_eq!(sha256(&stage.folder.read("fetched")), expected);
        table.add(name, time);
    }
    let psql = |statement: &str| {
        let mut command = stage.command("psql");
        command.args(["-h", "127.0.0.1", "-p", "7432", "-U", "postgres", "-d", "postgres"]);
        command.args(["--no-psqlrc", "--tuples-only", "--no-align", "--quiet", "-c", statement]);
        finish(command)
    };
    let (rows, time) = psql(
        "CREATE TABLE t AS SELECT i, md5(i::text) AS h FROM generate_series(1, 30000) AS i; \
         SELECT i || ' ' || h FROM t ORDER BY i",
    );
    let (sum, _) = psql(
        "SELECT encode(sha256(string_agg(i || ' ' || h || E'\\n', '' ORDER BY i)::bytea), 'hex') FROM t",
    );
    assert_eq!(sha256(&rows), text(&sum).trim(), "{} bytes", rows.len());
    table.add("psql, 30,000 rows", time);
    let (_, time) = finish(connections_at_once(stage));
    table.add(&format!("{CONNECTIONS} connections of curl at once"), time);
    assert_eq!(PAYLOAD % CONNECTIONS, 0);
    let mut joined = vec![];
    for part in 1..=CONNECTIONS {
        joined.extend(stage.folder.read(&format!("part{part}")));
    }
    assert_eq!(sha256(&joined), expected, "the parts of the file");
}

/// Fetches the file in as many parts as there are connections.
fn connections_at_once(stage: &Stage) -> Command {
    let part = PAYLOAD / CONNECTIONS;
    let mut settings = String::new();
    for number in 0..CONNECTIONS {
        let (first, last) = (number * part, (number + 1) * part - 1);
        let file = stage.folder.path(&format!("part{}", number + 1));
        let url = "http://127.0.0.1:7080/payload";
        settings += &format!(
            "{}url = \"{url}\"\nrange = {first}-{last}\noutput = \"{file}\"\nhttp1.1\nfail\n",
            if number == 0 { "" } else { "next\n" }
        );
    }
    let file = stage.folder.path("curl.conf");
    std::fs::write(&file, settings).expect("room on disk");
    let most = CONNECTIONS.to_string();
    let arguments = ["--parallel", "--parallel-immediate", "--parallel-max", &most, "--config"];
    let mut curl = stage.curl(&arguments);
    curl.arg(file);
    curl
}

fn through_run(stage: &Stage, table: &mut Table) {
    let expected = sha256(&stage.folder.read("payload"));
    let url = format!("http://{INTRANET}:{HTTP}/payload");
    let source = stage.folder.path("fetch.go");
    std::fs::write(&source, GO_PROGRAM).expect("room on disk");
    let program = stage.folder.path("fetch");
    let mut build = Command::new("go");
    build
        .args(["build", "-o", &program, &source])
        .env("CGO_ENABLED", "0")
        .env("GOFLAGS", "-mod=mod");
    finish(build);
    let (printed, time) = finish(stage.run(&[&program, &url]));
    assert_eq!(text(&printed).trim(), expected);
    table.add("`run` with a static binary of Go", time);

    let https = format!("https://{INTRANET}:{HTTPS}/payload");
    let (printed, time) = finish(stage.run(&["curl", "-sSfk", "--http2", &https]));
    assert_eq!(sha256(&printed), expected);
    table.add("`run` with curl, HTTP/2 over TLS", time);
    if !skip_unless(&[Need::Program("java")]) {
        let source = stage.folder.path("Fetch.java");
        std::fs::write(&source, JAVA_PROGRAM).expect("room on disk");
        let (printed, time) = finish(stage.run(&["java", &source, &url]));
        assert_eq!(text(&printed).trim(), expected);
        table.add("`run` with a JVM, compiling its source", time);
    }
    let status = stage.run(&["sh", "-c", "exit 9"]).status().expect("starts");
    assert_eq!(status.code(), Some(9), "the status of the command");
}

const GO_PROGRAM: &str = r#"package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
)

func main() {
	response, err := http.Get(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	hash := sha256.New()
	if _, err := io.Copy(hash, response.Body); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%x\n", hash.Sum(nil))
}
"#;

const JAVA_PROGRAM: &str = r#"import java.io.InputStream;
import java.net.URL;
import java.security.MessageDigest;
import java.util.HexFormat;

public class Fetch {
    public static void main(String[] arguments) throws Exception {
        try (InputStream body = new URL(arguments[0]).openStream()) {
            MessageDigest hash = MessageDigest.getInstance("SHA-256");
            hash.update(body.readAllBytes());
            System.out.println(HexFormat.of().formatHex(hash.digest()));
        }
    }
}
"#;

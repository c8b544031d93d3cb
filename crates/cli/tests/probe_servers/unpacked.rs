//! Servers that scripts/setup-verify-probe unpacks and does not install: to install Exim is to remove Postfix,
//! and INN would run jobs of its own. Both take all their paths from their configuration.

use crate::bed::{ADDRESS, Bed};
use crate::programs::{ALL, Program, certificate};
use std::fs;
use std::path::Path;
use windlass_testbed::{Background, Need, run};

const INN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../out/servers/inn2");
const EXIM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../out/servers/exim4");

pub(crate) const NNTP: Program = Program {
    name: "inn2",
    needs: &[
        Need::Root,
        Need::Program(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../out/servers/inn2/usr/lib/news/bin/nnrpd"
        )),
        Need::Program("openssl"),
    ],
    start: |bed| (inn(bed), vec![format!("nntp://{ADDRESS}/")]),
    // It writes a reply at a time: at 5 ms, where 20 ms without a packet end a flight, 40 segments do not
    // always come as one.
    exact: &[3, 10],
    waits: false,
};
pub(crate) const NNTP_ARTICLE: Program = Program {
    name: "inn2, an article",
    start: |bed| (inn(bed), vec![format!("nntp://{ADDRESS}/local.test")]),
    exact: ALL,
    ..NNTP
};
pub(crate) const NNTPS: Program = Program {
    name: "inn2, TLS",
    start: |bed| (inn(bed), vec![format!("nntps://{ADDRESS}/local.test")]),
    exact: &[],
    ..NNTP
};
pub(crate) const NNTP_STARTTLS: Program = Program {
    name: "inn2, STARTTLS",
    start: |bed| (inn(bed), vec![format!("nntp+starttls://{ADDRESS}/")]),
    exact: &[],
    ..NNTP
};
pub(crate) const EXIM_SMTP: Program = Program {
    name: "exim4",
    needs: &[
        Need::Root,
        Need::Program(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../out/servers/exim4/usr/sbin/exim4"
        )),
        Need::Program("openssl"),
    ],
    start: |bed| (exim(bed), vec![format!("smtp://{ADDRESS}/")]),
    exact: &[],
    waits: false,
};
pub(crate) const EXIM_STARTTLS: Program = Program {
    name: "exim4, STARTTLS",
    start: |bed| (exim(bed), vec![format!("smtp+starttls://{ADDRESS}/")]),
    ..EXIM_SMTP
};

const ARTICLE_HEAD: &str = "Path: news.example!not-for-mail\r\nFrom: a@example.invalid\r\n\
    Newsgroups: local.test\r\nSubject: test\r\nDate: Fri, 27 Nov 2026 10:00:00 +0000\r\n\
    Message-ID: <1@example.invalid>\r\nXref: news.example local.test:1\r\n\r\n";

/// The readers' part of INN, which serves by itself: to receive articles takes `innd`, to read them does not.
fn inn(bed: &Bed) -> Vec<Background> {
    let folder = certificate(bed);
    let root = fs::canonicalize(INN).expect("unpacked").display().to_string();
    for name in ["log", "run", "tmp", "spool/overview"] {
        fs::create_dir_all(bed.folder.join(name)).expect("a folder");
    }
    bed.write(
        "etc/inn.conf",
        format!(
            "mta: /bin/true\novmethod: tradindexed\nhismethod: hisv6\nenableoverview: true\n\
             pathhost: news.example\ndomain: example\npathnews: {folder}\npathbin: {root}/usr/lib/news/bin\n\
             pathetc: {folder}etc\npathdb: {folder}db\npathlog: {folder}log\npathrun: {folder}run\n\
             pathspool: {folder}spool\npathtmp: {folder}tmp\npathfilter: {folder}etc\n\
             tlscertfile: {folder}cert.pem\ntlskeyfile: {folder}key.pem\n"
        ),
    );
    bed.write("etc/storage.conf", "method tradspool {\n newsgroups: *\n class: 0\n}\n");
    let readers = "auth \"all\" { hosts: \"*\" default: \"<guest>\" }\n\
        access \"all\" { users: \"*\" newsgroups: \"*\" access: \"R\" }\n";
    bed.write("etc/readers.conf", readers);
    bed.write("db/active", "local.test 0000000001 0000000001 y\n");
    for name in ["etc/expire.ctl", "db/newsgroups", "db/active.times", "spool/tradspool.map"] {
        bed.write(name, "");
    }
    let text = "A line of an article, which is as long as such lines are.\r\n".repeat(100);
    bed.write("spool/articles/local/test/1", format!("{ARTICLE_HEAD}{text}"));
    run("chown", &format!("-R news:news {folder}"));
    run("chmod", &format!("640 {folder}key.pem"));
    let environment = format!(
        "export INNCONF={folder}etc/inn.conf LD_LIBRARY_PATH={root}/usr/lib/news:{root}/usr/lib/{}\n\
         cd {root}/usr/lib/news/bin",
        library_folder(&root)
    );
    let index = "setpriv --reuid news --regid news --clear-groups ./makehistory -O -x -F";
    let nnrpd = format!("./nnrpd -D -f -b {ADDRESS}");
    let tls = bed.start(&format!("{environment}\n{index}\n{nnrpd} -S -p 563; exit"), 563);
    vec![tls, bed.start(&format!("{environment}\n{nnrpd} -p 119; exit"), 119)]
}

const EXIM_CONF: &str = "log_file_path = FOLDERspool/%slog\nspool_directory = FOLDERspool\n\
    primary_hostname = mail.example\nkeep_environment =\nhost_lookup =\nrfc1413_hosts =\n\
    acl_smtp_rcpt = any\ntls_advertise_hosts = *\ntls_certificate = FOLDERcert.pem\n\
    tls_privatekey = FOLDERkey.pem\nbegin acl\nany:\n  accept\nbegin routers\nall:\n  driver = accept\n  \
    transport = none\nbegin transports\nnone:\n  driver = appendfile\n  file = /dev/null\n";

fn exim(bed: &Bed) -> Vec<Background> {
    let folder = certificate(bed);
    let root = fs::canonicalize(EXIM).expect("unpacked").display().to_string();
    bed.write("exim.conf", EXIM_CONF.replace("FOLDER", &folder));
    // Its user, whom the package would make.
    for (name, user) in [("passwd", "Exim:/nonexistent:/bin/false"), ("group", "")] {
        let mut all = fs::read_to_string(format!("/etc/{name}")).expect("readable");
        if !all.contains("Debian-exim:") {
            all += &format!("Debian-exim:x:19996:19996:{user}\n");
        }
        bed.write(name, all);
    }
    let script = format!(
        "for file in passwd group; do mount --bind {folder}$file /etc/$file; done\n\
         mkdir {folder}spool; chown Debian-exim:Debian-exim {folder}spool {folder}key.pem\n\
         export LD_LIBRARY_PATH={root}/usr/lib/{}\n\
         {root}/usr/sbin/exim4 -C {folder}exim.conf -bdf -oX {ADDRESS}.25; exit",
        library_folder(&root)
    );
    vec![bed.start(&script, 25)]
}

/// The folder of the architecture's libraries, such as `x86_64-linux-gnu`.
fn library_folder(root: &str) -> String {
    let folders = fs::read_dir(Path::new(root).join("usr/lib")).expect("unpacked");
    let names = folders.map(|entry| entry.expect("readable").file_name());
    let mut names = names.map(|name| name.to_string_lossy().into_owned());
    names.find(|name| name.ends_with("-linux-gnu")).expect("libraries")
}

//! The servers, as Debian packages them, each with the least configuration that lets it serve a stranger.

use crate::bed::{ADDRESS, Bed};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use windlass_testbed::{Background, Need, run, text, wait_until};

/// A server, what it needs, and how it is probed.
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) needs: &'static [Need<'static>],
    /// Starts it and returns the arguments of the probe.
    pub(crate) start: fn(&Bed) -> (Vec<Background>, Vec<String>),
    /// The initial windows that its answer suffices to show exactly.
    pub(crate) exact: &'static [u32],
    /// Each run waits for a clock of the server: so the servers of all paths and windows run at once.
    pub(crate) waits: bool,
}

const BIG_BYTES: usize = 400_000;
pub(crate) const ALL: &[u32] = &[3, 10, 40];

pub(crate) const REDIS: Program = Program {
    name: "redis",
    needs: &[Need::Root, Need::Program("redis-server")],
    start: redis,
    exact: ALL,
    waits: false,
};
pub(crate) const SEND: Program = Program {
    name: "redis by --send",
    needs: REDIS.needs,
    start: |bed| {
        let (servers, _) = redis(bed);
        let arguments = [
            &format!("tcp://{ADDRESS}:6379"),
            "--send",
            r"COMMAND\r\nECHO END\r\n",
            "--until",
            r"\$3\r\nEND",
        ];
        (servers, arguments.map(str::to_owned).to_vec())
    },
    exact: ALL,
    waits: false,
};
pub(crate) const SSH: Program = Program {
    name: "openssh",
    needs: &[Need::Root, Need::Program("sshd"), Need::Program("ssh-keygen")],
    start: ssh,
    exact: &[3, 10],
    waits: false,
};
pub(crate) const FIRST: Program = Program {
    name: "openssh, speaking first",
    needs: SSH.needs,
    start: |bed| (ssh(bed).0, vec![format!("tcp://{ADDRESS}:22")]),
    exact: &[],
    waits: false,
};
pub(crate) const RSYNC_LIST: Program = Program {
    name: "rsync, modules",
    needs: &[Need::Root, Need::Program("rsync")],
    start: |bed| (rsync(bed), vec![format!("rsync://{ADDRESS}/")]),
    exact: &[],
    waits: false,
};
pub(crate) const RSYNC: Program = Program {
    name: "rsync, a file",
    needs: RSYNC_LIST.needs,
    start: |bed| (rsync(bed), vec![format!("rsync://{ADDRESS}/pub/big.bin")]),
    exact: ALL,
    waits: false,
};
pub(crate) const FTP: Program = Program {
    name: "vsftpd",
    needs: &[Need::Root, Need::Program("vsftpd")],
    start: ftp,
    exact: ALL,
    waits: false,
};
pub(crate) const IMAP: Program = Program {
    name: "dovecot",
    needs: &[Need::Root, Need::Program("dovecot"), Need::Program("openssl")],
    start: |bed| (dovecot(bed), vec![format!("imap://{ADDRESS}/")]),
    exact: ALL,
    waits: false,
};
pub(crate) const IMAPS: Program = Program {
    name: "dovecot, TLS",
    start: |bed| (dovecot(bed), vec![format!("imaps://{ADDRESS}/")]),
    exact: &[],
    ..IMAP
};
pub(crate) const IMAP_STARTTLS: Program = Program {
    name: "dovecot, STARTTLS",
    start: |bed| (dovecot(bed), vec![format!("imap+starttls://{ADDRESS}/")]),
    exact: &[],
    ..IMAP
};
pub(crate) const SMTP: Program = Program {
    name: "postfix",
    needs: &[Need::Root, Need::Program("postfix"), Need::Program("openssl")],
    start: |bed| (postfix(bed), vec![format!("smtp://{ADDRESS}/")]),
    exact: &[],
    waits: false,
};
pub(crate) const SMTPS: Program = Program {
    name: "postfix, TLS",
    start: |bed| (postfix(bed), vec![format!("smtps://{ADDRESS}/")]),
    ..SMTP
};
pub(crate) const SMTP_STARTTLS: Program = Program {
    name: "postfix, STARTTLS",
    start: |bed| (postfix(bed), vec![format!("smtp+starttls://{ADDRESS}/")]),
    ..SMTP
};
pub(crate) const BITTORRENT: Program = Program {
    name: "transmission",
    needs: &[
        Need::Root,
        Need::Program("transmission-daemon"),
        Need::Program("transmission-create"),
    ],
    start: transmission,
    exact: &[],
    waits: true,
};
pub(crate) const NGINX: Program = Program {
    name: "nginx",
    needs: &[Need::Root, Need::Program("nginx")],
    start: |bed| web(bed, "nginx.conf", NGINX_CONF, "exec nginx -c FOLDER/nginx.conf"),
    exact: ALL,
    waits: false,
};
pub(crate) const APACHE: Program = Program {
    name: "apache2",
    needs: &[Need::Root, Need::Program("apache2")],
    start: |bed| {
        web(bed, "apache.conf", APACHE_CONF, "exec apache2 -f FOLDER/apache.conf -D FOREGROUND")
    },
    exact: ALL,
    waits: false,
};
pub(crate) const LIGHTTPD: Program = Program {
    name: "lighttpd",
    needs: &[Need::Root, Need::Program("lighttpd")],
    start: |bed| {
        web(bed, "lighttpd.conf", LIGHTTPD_CONF, "exec lighttpd -D -f FOLDER/lighttpd.conf")
    },
    exact: ALL,
    waits: false,
};
pub(crate) const HAPROXY: Program = Program {
    name: "haproxy",
    needs: &[Need::Root, Need::Program("haproxy")],
    start: |bed| web(bed, "haproxy.conf", HAPROXY_CONF, "exec haproxy -f FOLDER/haproxy.conf"),
    exact: ALL,
    waits: false,
};

fn big() -> Vec<u8> {
    (0..BIG_BYTES).map(|at| (at * 7 % 251) as u8).collect()
}

fn redis(bed: &Bed) -> (Vec<Background>, Vec<String>) {
    let script = format!("exec redis-server --bind {ADDRESS} --protected-mode no --save ''");
    (vec![bed.start(&script, 6379)], vec![format!("redis://{ADDRESS}/")])
}

fn ssh(bed: &Bed) -> (Vec<Background>, Vec<String>) {
    let key = bed.folder.join("key").display().to_string();
    let mut keygen = Command::new("ssh-keygen");
    keygen.args(["-q", "-t", "rsa", "-N", "", "-f", &key]);
    assert!(keygen.status().is_ok_and(|status| status.success()), "a host key");
    let script = format!(
        "exec /usr/sbin/sshd -D -e -f /dev/null -h {key} -o ListenAddress={ADDRESS} -o PidFile=none \
         -o UsePAM=no -o 'MaxStartups 100'"
    );
    (vec![bed.start(&script, 22)], vec![format!("ssh://{ADDRESS}/")])
}

fn rsync(bed: &Bed) -> Vec<Background> {
    bed.write("pub/big.bin", big());
    let folder = bed.folder.display();
    let module = format!("[pub]\npath = {folder}/pub\ncomment = files\nuid = root\ngid = root\n");
    bed.write("rsyncd.conf", format!("use chroot = no\n{module}"));
    let script = format!(
        "exec rsync --daemon --no-detach --config={folder}/rsyncd.conf --address={ADDRESS} \
         --log-file=/dev/null"
    );
    vec![bed.start(&script, 873)]
}

fn ftp(bed: &Bed) -> (Vec<Background>, Vec<String>) {
    bed.write("ftp/big.bin", big());
    let folder = bed.folder.display();
    fs::create_dir(bed.folder.join("empty")).expect("a folder");
    bed.write(
        "vsftpd.conf",
        format!(
            "listen=YES\nbackground=NO\nanonymous_enable=YES\nanon_root={folder}/ftp\n\
             secure_chroot_dir={folder}/empty\nseccomp_sandbox=NO\nlisten_address={ADDRESS}\n"
        ),
    );
    // Not by exec: as the first process of its namespace it would reap others' children, and crash.
    let script = format!("vsftpd {folder}/vsftpd.conf; exit");
    (vec![bed.start(&script, 21)], vec![format!("ftp://{ADDRESS}/big.bin")])
}

/// A certificate and its key in one file.
pub(crate) fn certificate(bed: &Bed) -> String {
    let folder = bed.folder.display();
    run(
        "openssl",
        &format!(
            "req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=mail.example -keyout {folder}/key.pem \
             -out {folder}/cert.pem"
        ),
    );
    format!("{folder}/")
}

fn dovecot(bed: &Bed) -> Vec<Background> {
    let folder = certificate(bed);
    bed.write(
        "dovecot.conf",
        format!(
            "base_dir = /run/dovecot\nstate_dir = /run/dovecot-state\nlog_path = /dev/stderr\nprotocols = imap\n\
             listen = {ADDRESS}\nssl_cert = <{folder}cert.pem\nssl_key = <{folder}key.pem\n\
             mail_location = maildir:{folder}mail\npassdb {{\n  driver = static\n  args = password=x\n}}\n\
             service imap-login {{\n  inet_listener imaps {{\n    port = 993\n    ssl = yes\n  }}\n}}\n"
        ),
    );
    vec![bed.start(&format!("exec dovecot -F -c {folder}dovecot.conf"), 993)]
}

const POSTFIX_SERVICES: &str = "\
smtp inet n - n - - smtpd
465 inet n - n - - smtpd -o smtpd_tls_wrappermode=yes
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
proxymap unix - - n - - proxymap
local unix - n n - - local
tlsmgr unix - - n 1000? 1 tlsmgr
anvil unix - - n - 1 anvil
postlog unix-dgram n - n - 1 postlogd
";

fn postfix(bed: &Bed) -> Vec<Background> {
    let folder = certificate(bed);
    bed.write("etc/master.cf", POSTFIX_SERVICES);
    for name in ["queue", "data"] {
        fs::create_dir(bed.folder.join(name)).expect("a folder");
    }
    run("chown", &format!("postfix {folder}data"));
    bed.write(
        "etc/main.cf",
        format!(
            "compatibility_level = 3.6\nqueue_directory = {folder}queue\ndata_directory = {folder}data\n\
             command_directory = /usr/sbin\ndaemon_directory = /usr/lib/postfix/sbin\n\
             mail_owner = postfix\nsetgid_group = postdrop\ninet_interfaces = {ADDRESS}\n\
             inet_protocols = ipv4\nmyhostname = mail.example\nmydestination = mail.example\n\
             alias_maps =\nlocal_recipient_maps =\nsmtpd_peername_lookup = no\n\
             maillog_file = {folder}log\nmaillog_file_prefixes = {folder}\n\
             smtpd_tls_security_level = may\nsmtpd_tls_cert_file = {folder}cert.pem\n\
             smtpd_tls_key_file = {folder}key.pem\n"
        ),
    );
    vec![bed.start(&format!("exec postfix -c {folder}etc start-fg"), 465)]
}

fn transmission(bed: &Bed) -> (Vec<Background>, Vec<String>) {
    let file = bed.write("torrent/file.bin", big());
    let (folder, file) = (bed.folder.display(), file.display());
    run("transmission-create", &format!("-o {folder}/file.torrent -s 16 {file}"));
    let script = format!(
        "exec transmission-daemon -f --config-dir {folder}/config --download-dir {folder}/torrent \
         --bind-address-ipv4 {ADDRESS} --peerport 51413 --no-portmap --no-dht --no-utp --no-lpd \
         --no-auth --rpc-bind-address {ADDRESS} --allowed {ADDRESS}"
    );
    let server = bed.start(&script, 9091);
    let remote = |arguments: &str| {
        text(
            &bed.server
                .command("transmission-remote")
                .arg(ADDRESS)
                .args(arguments.split(' '))
                .output()
                .expect("starts")
                .stdout,
        )
    };
    remote(&format!("-a {folder}/file.torrent"));
    wait_until("transmission has the file", || {
        let about = remote("-t1 -i");
        about.contains("Percent Done: 100%") && about.contains("State: Idle")
    });
    let about = remote("-t1 -i");
    let hash = about.lines().find_map(|line| line.trim().strip_prefix("Hash: ")).expect("a hash");
    (vec![server], vec![format!("bittorrent://{ADDRESS}:51413/{hash}")])
}

const NGINX_CONF: &str = "daemon off; pid FOLDER/pid; error_log stderr; events {} \
    http { access_log off; server { listen ADDRESS:80; root FOLDER/www; } }";
const APACHE_CONF: &str = "ServerRoot FOLDER\nPidFile FOLDER/pid\nListen ADDRESS:80\nServerName x\n\
    LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so\n\
    LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so\n\
    ErrorLog /dev/stderr\nDefaultRuntimeDir FOLDER\nDocumentRoot FOLDER/www\nUser www-data\nGroup www-data\n";
const LIGHTTPD_CONF: &str = "server.document-root = \"FOLDER/www\"\nserver.bind = \"ADDRESS\"\n\
    server.port = 80\nmimetype.assign = ( \".bin\" => \"application/octet-stream\" )\n";
const HAPROXY_CONF: &str = "global\n tune.bufsize 600000\ndefaults\n mode http\n timeout client 60s\n \
    timeout server 60s\n timeout connect 5s\nfrontend f\n bind ADDRESS:80\n \
    http-request return status 200 content-type text/plain file FOLDER/www/big.bin\n";

fn web(bed: &Bed, name: &str, configuration: &str, script: &str) -> (Vec<Background>, Vec<String>) {
    bed.write("www/big.bin", big());
    fs::set_permissions(&bed.folder, fs::Permissions::from_mode(0o755)).expect("its owner");
    let filled = |text: &str| {
        text.replace("FOLDER", &bed.folder.display().to_string()).replace("ADDRESS", ADDRESS)
    };
    bed.write(name, filled(configuration));
    (vec![bed.start(&filled(script), 80)], vec![format!("http://{ADDRESS}/big.bin")])
}

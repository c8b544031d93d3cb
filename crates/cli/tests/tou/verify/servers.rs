//! The servers of the exposing host, as a distribution packages them, with settings of the test's own.

use crate::bed::bytes;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use windlass_testbed::{Background, Namespace, unique, wait_until};

/// An address of the exposing host that only the far end of `run` reaches.
pub(super) const INTRANET: &str = "10.77.0.1";
/// Ports of the servers, on 127.0.0.1 and for the web also on [`INTRANET`].
pub(super) const SSH: u16 = 2200;
pub(super) const HTTP: u16 = 8080;
pub(super) const HTTPS: u16 = 8443;
pub(super) const POSTGRES: u16 = 5432;
/// Bytes of the file that programs transfer.
pub(super) const PAYLOAD: usize = 2_000_000;

/// A folder for all files of a test, removed in the end.
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn new() -> Folder {
        let path = std::env::temp_dir().join(unique("windlass-tou"));
        fs::create_dir(&path).expect("a folder");
        // PostgreSQL runs as another user.
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("its owner");
        let folder = Folder(path);
        fs::write(folder.path("payload"), bytes(11, PAYLOAD)).expect("room on disk");
        folder
    }

    pub(super) fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("UTF-8").to_owned()
    }

    pub(super) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).expect("the file")
    }

    fn write(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        fs::write(&path, text).expect("room on disk");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[track_caller]
fn run(command: &mut Command) {
    let done = command.output().expect("starts");
    let log = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{command:?}: {}\n{log}", done.status);
}

fn wait_for_port(host: &Namespace, port: u16) {
    let connects = || host.inside(|| std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
    wait_until(&format!("a server on port {port}"), connects);
}

/// OpenSSH's server, which admits the test's own key as root.
pub(super) fn start_sshd(host: &Namespace, folder: &Folder) -> Background {
    for key in ["host_key", "user_key"] {
        let path = folder.path(key);
        run(Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f", &path]));
    }
    fs::copy(folder.path("user_key.pub"), folder.path("authorized")).expect("made above");
    // sshd drops its privileges into this folder.
    fs::create_dir_all("/run/sshd").expect("root");
    let settings = format!(
        "ListenAddress 127.0.0.1:{SSH}\nHostKey {}\nAuthorizedKeysFile {}\nStrictModes no\n\
         UsePAM no\nPermitRootLogin yes\nPidFile none\nSubsystem sftp internal-sftp\n\
         MaxStartups 100\n",
        folder.path("host_key"),
        folder.path("authorized"),
    );
    let file = folder.write("sshd_config", &settings);
    let mut command = host.command("/usr/sbin/sshd");
    command.args(["-D", "-e", "-f", &file]).stdout(Stdio::null());
    let server = Background::start(command);
    wait_for_port(host, SSH);
    server
}

/// nginx, which serves the folder over HTTP/1.1, and over TLS also by HTTP/2.
pub(super) fn start_nginx(host: &Namespace, folder: &Folder) -> Background {
    host.ip(&format!("address add {INTRANET}/24 dev lo"));
    let (key, certificate) = (folder.path("tls_key"), folder.path("tls_certificate"));
    run(Command::new("openssl")
        .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=b"])
        .args(["-keyout", &key, "-out", &certificate]));
    let listen = |port: u16, how: &str| {
        format!("listen 127.0.0.1:{port}{how}; listen {INTRANET}:{port}{how};")
    };
    let root = folder.path("");
    let server = |listen: &str, more: &str| format!("server {{ {listen} root {root}; {more} }}");
    let tls = format!("ssl_certificate {certificate}; ssl_certificate_key {key};");
    let settings = format!(
        "daemon off; user root; worker_processes 1; pid {}; error_log stderr;\n\
         events {{ }}\n\
         http {{ access_log off; client_body_temp_path {root}body; proxy_temp_path {root}proxy;\n\
           fastcgi_temp_path {root}fastcgi; uwsgi_temp_path {root}uwsgi; scgi_temp_path {root}scgi;\n\
           {}\n{} }}\n",
        folder.path("nginx.pid"),
        server(&listen(HTTP, ""), ""),
        server(&listen(HTTPS, " ssl http2"), &tls),
    );
    let file = folder.write("nginx.conf", &settings);
    let mut command = host.command("/usr/sbin/nginx");
    command.args(["-c", &file, "-p", &root]).stdout(Stdio::null());
    let server = Background::start(command);
    wait_for_port(host, HTTP);
    server
}

/// PostgreSQL with an empty cluster of its own.
pub(super) fn start_postgres(host: &Namespace, folder: &Folder) -> Background {
    let data = folder.path("postgres");
    fs::create_dir(&data).expect("a new folder");
    run(Command::new("chown").args(["postgres:", &data]));
    let programs = programs_of_postgres();
    let initdb = format!("{programs}/initdb");
    run(Command::new("runuser").args(["-u", "postgres", "--", &initdb, "-D", &data]).args([
        "--auth=trust",
        "--no-sync",
        "--encoding=UTF8",
    ]));
    let mut command = host.command("runuser");
    command.args(["-u", "postgres", "--", &format!("{programs}/postgres"), "-D", &data]);
    command.args(["-c", "unix_socket_directories=", "-c", "listen_addresses=127.0.0.1"]);
    command.stdout(Stdio::null());
    let server = Background::start(command);
    wait_for_port(host, POSTGRES);
    server
}

/// Debian keeps the programs of the server out of the PATH.
fn programs_of_postgres() -> String {
    let versions = fs::read_dir("/usr/lib/postgresql").expect("PostgreSQL is installed");
    let newest = versions.filter_map(Result::ok).map(|version| version.path()).max();
    newest.expect("a version").join("bin").to_str().expect("UTF-8").to_owned()
}

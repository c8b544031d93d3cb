//! Builds the examples in C and C++ as a user does, and runs them: with an installed library found by
//! pkg-config, shared and static, and with AddressSanitizer.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use windlass_testbed::skip;

/// A folder that is removed after the test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("c-programs-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{errors}", output.status);
    output
}

/// Whether a program is installed. Prints a line if not.
fn have(program: &str) -> bool {
    let there = Command::new(program).arg("--version").output().is_ok();
    if !there {
        skip(&format!("needs {program}"));
    }
    there
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The folder of the libraries that cargo built with this test.
fn built() -> PathBuf {
    let own = std::env::current_exe().expect("a path");
    own.parent().expect("a folder").to_owned()
}

fn install(prefix: &Path, flag: Option<&str>) {
    run(Command::new(repository().join("scripts/install-tou"))
        .args(flag)
        .env("PREFIX", prefix)
        .env_remove("DESTDIR")
        .env_remove("LIBDIR")
        .env("BUILT", built()));
}

fn pkg_config(prefix: &Path, flags: &[&str]) -> Vec<String> {
    let output = run(Command::new("pkg-config")
        .args(flags)
        .arg("tou")
        .env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig")));
    let text = String::from_utf8(output.stdout).expect("text");
    text.split_whitespace().map(str::to_owned).collect()
}

const STRICT: [&str; 5] = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-g"];
const LANGUAGES: [(&str, &str, &str); 2] = [("gcc", "-std=c99", "c"), ("g++", "-std=c++11", "cpp")];

/// How an example is linked.
#[derive(Copy, Clone, Debug, PartialEq)]
enum Link {
    Shared,
    Static,
    /// Static, with AddressSanitizer and UBSan.
    Sanitized,
}

/// Builds an example; returns its path.
fn build(
    folder: &Folder,
    name: &str,
    (compiler, standard, suffix): (&str, &str, &str),
    link: Link,
) -> PathBuf {
    let prefix = folder.path("prefix");
    let out = folder.path(&format!("{name}-{suffix}-{link:?}"));
    let source = repository().join(format!("crates/libtou/examples/{name}.{suffix}"));
    let mut command = Command::new(compiler);
    command.arg(standard).args(STRICT).arg(source).arg("-o").arg(&out).arg("-pthread");
    if link == Link::Shared {
        command.args(pkg_config(&prefix, &["--cflags", "--libs"]));
        command.arg(format!("-Wl,-rpath,{}", prefix.join("lib").display()));
    } else {
        // Names the archive: the same folder also has a shared library.
        let flags = pkg_config(&prefix, &["--static", "--cflags", "--libs"]);
        command.args(flags.iter().map(|flag| if flag == "-ltou" { "-l:libtou.a" } else { flag }));
    }
    if link == Link::Sanitized {
        command.args(["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]);
    }
    run(&mut command);
    out
}

/// A running server and its port. It is killed when dropped.
struct Server {
    child: Child,
    port: String,
}

impl Server {
    fn start<S: AsRef<OsStr>>(program: &Path, arguments: &[S]) -> Server {
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("starts");
        let mut line = String::new();
        let out = child.stdout.as_mut().expect("piped");
        BufReader::new(out).read_line(&mut line).expect("a line");
        let port = line.trim().strip_prefix("port ").unwrap_or_else(|| panic!("{line:?}"));
        Server { port: port.to_owned(), child }
    }

    /// Closes its input and waits until it exits successfully.
    fn finish(mut self) {
        drop(self.child.stdin.take());
        let status = self.child.wait().expect("waits");
        assert!(status.success(), "{status}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len as u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) as u8).collect()
}

fn transfers_a_file(folder: &Folder, sender: &Path, receiver: &Path) {
    let (from, to) = (folder.path("from"), folder.path("to"));
    let data = pattern(3_000_001);
    fs::write(&from, &data).expect("written");
    let server = Server::start(receiver, &[OsStr::new("receive"), OsStr::new("0"), to.as_os_str()]);
    run(Command::new(sender).args(["send", "127.0.0.1", &server.port]).arg(&from));
    server.finish();
    assert!(fs::read(&to).expect("there") == data, "{}", sender.display());
}

fn echoes(server: &Path, client: &Path) {
    let server = Server::start(server, &["server", "0"]);
    let data = pattern(700_000);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut client = Command::new(client)
                    .args(["client", "127.0.0.1", &server.port])
                    .stdin(Stdio::piped())
                    .stdout(Stdio::piped())
                    .spawn()
                    .expect("starts");
                let mut input = client.stdin.take().expect("piped");
                let mut output = client.stdout.take().expect("piped");
                let data = &data;
                scope.spawn(move || input.write_all(data).expect("read"));
                let mut echo = Vec::new();
                output.read_to_end(&mut echo).expect("readable");
                assert!(client.wait().expect("waits").success());
                assert!(echo == *data, "{} bytes", echo.len());
            });
        }
    });
    server.finish();
}

#[test]
fn examples_run_against_the_installed_library() {
    if !(have("gcc") && have("g++") && have("pkg-config")) {
        return;
    }
    let folder = Folder::new();
    install(&folder.path("prefix"), None);
    assert_eq!(pkg_config(&folder.path("prefix"), &["--modversion"]), [env!("CARGO_PKG_VERSION")]);
    for link in [Link::Shared, Link::Static] {
        let [file_c, file_cpp] =
            LANGUAGES.map(|language| build(&folder, "file_transfer", language, link));
        transfers_a_file(&folder, &file_c, &file_cpp);
        transfers_a_file(&folder, &file_cpp, &file_c);
        let [echo_c, echo_cpp] = LANGUAGES.map(|language| build(&folder, "echo", language, link));
        echoes(&echo_c, &echo_cpp);
        echoes(&echo_cpp, &echo_c);
    }
    install(&folder.path("prefix"), Some("--uninstall"));
    let left = run(Command::new("find").arg(folder.path("prefix")).args(["!", "-type", "d"]));
    assert_eq!(String::from_utf8_lossy(&left.stdout), "");
}

#[test]
fn examples_are_clean_under_address_sanitizer() {
    if !(have("gcc") && have("g++") && have("pkg-config")) {
        return;
    }
    let folder = Folder::new();
    let probe = folder.path("probe.c");
    fs::write(&probe, "int main(void) { return 0; }\n").expect("written");
    let works = Command::new("gcc")
        .args(["-fsanitize=address,undefined", "-o"])
        .arg(folder.path("probe"))
        .arg(&probe)
        .stderr(Stdio::null())
        .status();
    if !works.expect("runs").success() {
        skip("needs gcc's AddressSanitizer (libasan, libubsan)");
        return;
    }
    install(&folder.path("prefix"), None);
    let [file_c, file_cpp] =
        LANGUAGES.map(|language| build(&folder, "file_transfer", language, Link::Sanitized));
    transfers_a_file(&folder, &file_c, &file_cpp);
    let [echo_c, echo_cpp] =
        LANGUAGES.map(|language| build(&folder, "echo", language, Link::Sanitized));
    echoes(&echo_c, &echo_cpp);
}

/// pkg-config, the header and Cargo.toml must have the same version.
#[test]
fn the_header_has_the_version_of_the_crate() {
    let header =
        fs::read_to_string(repository().join("crates/libtou/include/tou.h")).expect("there");
    assert!(header.contains(&format!("#define TOU_VERSION \"{}\"", env!("CARGO_PKG_VERSION"))));
}

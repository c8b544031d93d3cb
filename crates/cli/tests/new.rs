//! `windlass new`: the crate that it writes builds, from the sources that the binary carries.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const WINDLASS: &str = env!("CARGO_BIN_EXE_windlass");
const CHECKOUT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// A new directory of this test, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("windlass-new-{test}-{}", std::process::id()));
        std::fs::create_dir(&path).expect("a new directory");
        Folder(path)
    }

    fn windlass(&self, arguments: &[&str]) -> Output {
        Command::new(WINDLASS).args(arguments).current_dir(&self.0).output().expect("windlass")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn text(output: &Output) -> String {
    let (out, err) = (&output.stdout, &output.stderr);
    format!("{}{}", String::from_utf8_lossy(out), String::from_utf8_lossy(err))
}

/// Runs a command of a shell in `folder` where the checkout is not there. `None`, with a line that
/// says so, where mounts are refused.
fn without_checkout(folder: &Path, script: &str) -> Option<Output> {
    let allowed = Command::new("unshare").args(["--mount", "true"]).output();
    if !allowed.is_ok_and(|output| output.status.success()) {
        println!("skipped: to hide the checkout takes root or CAP_SYS_ADMIN");
        return None;
    }
    let hide = format!("mount -t tmpfs none {CHECKOUT} && cd {} && {script}", folder.display());
    let output = Command::new("unshare").args(["--mount", "sh", "-ec", &hide]).output();
    Some(output.expect("unshare"))
}

/// `cargo metadata` without a network. Only with this machine's target: crates that other systems alone
/// need are never downloaded by a build.
const METADATA: [&str; 6] =
    ["metadata", "--offline", "--format-version", "1", "--filter-platform", "host-tuple"];

/// The sources in the binary lack the tests, and must be whole packages without them.
#[test]
fn cargo_can_read_the_sources_that_the_binary_carries() {
    let folder = Folder::new("carried");
    let written = folder.windlass(&["new", "controller", "mine"]);
    assert!(written.status.success(), "{}", text(&written));
    let cargo = Command::new(env!("CARGO"))
        .args(METADATA)
        .arg("--quiet")
        .current_dir(folder.0.join("mine"))
        .output()
        .expect("cargo");
    assert!(cargo.status.success(), "{}", text(&cargo));
}

/// All three kinds at once: what they share is compiled once, and what they share with the command not at all,
/// if it is compiled with the same options.
#[test]
fn the_crates_compile_with_their_tests() {
    let folder = Folder::new("compiles");
    for kind in ["controller", "queue", "middlebox"] {
        let name = format!("my-{kind}");
        let written = folder.windlass(&["new", kind, &name, "--source", CHECKOUT]);
        assert!(written.status.success(), "{}", text(&written));
        let crate_folder = folder.0.join(&name);
        assert!(!crate_folder.join("windlass").exists(), "the sources are the checkout's");
        let cargo = Command::new(env!("CARGO"))
            .args(["check", "--quiet", "--tests", "--bins", "--offline"])
            .current_dir(&crate_folder)
            .env("CARGO_PROFILE_DEV_DEBUG", "line-tables-only")
            .env(
                "CARGO_TARGET_DIR",
                Path::new(WINDLASS).ancestors().nth(2).expect("a target folder"),
            )
            .output()
            .expect("cargo");
        assert!(cargo.status.success() && !text(&cargo).contains("warning"), "{}", text(&cargo));
    }
}

#[test]
fn the_binary_carries_every_source_that_the_crate_names() {
    let folder = Folder::new("carries");
    let written = folder.windlass(&["new", "controller", "mine", "--dir", "deep/here"]);
    assert!(written.status.success(), "{}", text(&written));
    let cargo = format!("{} {}", env!("CARGO"), METADATA.join(" "));
    let script = format!("{cargo} --manifest-path deep/here/Cargo.toml >metadata.json");
    if let Some(resolved) = without_checkout(&folder.0, &script) {
        assert!(resolved.status.success(), "{}", text(&resolved));
        let metadata = std::fs::read_to_string(folder.0.join("metadata.json")).expect("metadata");
        assert!(metadata.contains("deep/here/windlass/crates/tcp"));
    }
}

/// Minutes long: `make verify-new` runs it.
#[test]
#[ignore = "builds all of windlass: make verify-new"]
fn two_commands_lead_to_a_run_without_the_checkout() {
    let folder = Folder::new("run");
    std::fs::copy(WINDLASS, folder.0.join("windlass")).expect("a copy of the binary");
    let script = format!(
        "./windlass new controller mine\n\
         {cargo} test --quiet --offline --manifest-path mine/Cargo.toml\n\
         for kind in queue middlebox; do\n\
         ./windlass new $kind my-$kind\n\
         CARGO_TARGET_DIR=mine/target {cargo} test --quiet --offline --manifest-path my-$kind/Cargo.toml\n\
         done\n\
         {cargo} run --quiet --offline --release --manifest-path mine/Cargo.toml -- \
         sim run mine/scenario.toml --out out\n\
         {cargo} run --quiet --offline --release --manifest-path mine/Cargo.toml -- \
         sim chaos --seeds 0..500 --controller mine\n",
        cargo = env!("CARGO")
    );
    let Some(run) = without_checkout(&folder.0, &script) else { return };
    assert!(run.status.success(), "{}", text(&run));
    assert!(folder.0.join("out/summary.json").is_file());
    assert!(text(&run).contains("mine-1"), "{}", text(&run));
}

#[test]
fn what_cannot_be_is_refused_before_anything_is_written() {
    let folder = Folder::new("refused");
    std::fs::create_dir(folder.0.join("there")).expect("a directory");
    for (arguments, expected) in [
        (&["new", "controller", "Mine"][..], "expected 2 to 40 small letters"),
        (
            &["new", "controller", "cubic"],
            "cubic: Windlass has a congestion controller of that name",
        ),
        (&["new", "queue", "red"], "red: Windlass has a queue discipline of that name"),
        (&["new", "middlebox", "ecn-proxy"], "ecn-proxy: Windlass has a middlebox of that name"),
        (&["new", "controller", "there"], "there: exists already"),
        (&["new", "controller", "x1", "--source", "nowhere"], "expected a checkout of Windlass"),
    ] {
        let output = folder.windlass(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output).contains(expected), "{}", text(&output));
    }
    let left = std::fs::read_dir(&folder.0).expect("the directory").count();
    assert_eq!(left, 1, "nothing but the directory that was there");
}

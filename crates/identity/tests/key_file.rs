//! Key files: made once, private, refused when others have access.
#![cfg(unix)]

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Barrier;
use std::thread;

use windlass_identity::{KeyFileError, SecretKey, load, load_or_create};
use windlass_testbed::{Need, skip_unless};

/// An empty folder that is removed at the end of the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("key-file-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).expect("a new folder");
        Self(path)
    }

    fn key(&self) -> PathBuf {
        self.0.join("windlass/tou/key")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("exists").mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("own file");
}

#[test]
fn a_key_is_made_once_and_private() {
    let folder = Folder::new("once");
    let path = folder.key();
    let made = load_or_create(&path).expect("made");
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(path.parent().expect("a folder")), 0o700);
    assert_eq!(load_or_create(&path).expect("read").public_key(), made.public_key());
    assert_eq!(load(&path).expect("read").public_key(), made.public_key());
    // Nothing temporary stays.
    assert_eq!(fs::read_dir(path.parent().expect("a folder")).expect("folder").count(), 1);
}

#[test]
fn creators_at_once_end_with_the_same_key() {
    let folder = Folder::new("race");
    for round in 0..20 {
        let path = folder.0.join(format!("{round}/key"));
        let barrier = Barrier::new(4);
        let create = || {
            barrier.wait();
            load_or_create(&path).expect("made or read").public_key()
        };
        let keys = thread::scope(|scope| {
            [(); 4].map(|()| scope.spawn(create)).map(|thread| thread.join().expect("no panic"))
        });
        assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
        assert_eq!(fs::read_dir(folder.0.join(round.to_string())).expect("folder").count(), 1);
    }
}

#[test]
fn a_file_that_others_can_access_is_refused_with_the_command_to_run() {
    let folder = Folder::new("exposed");
    let path = folder.key();
    load_or_create(&path).expect("made");
    for exposed in [0o640, 0o604, 0o620, 0o602, 0o610] {
        set_mode(&path, exposed);
        let error = load_or_create(&path).expect_err("exposed");
        assert!(
            matches!(error, KeyFileError::Exposed { mode, .. } if mode == exposed),
            "{error:?}"
        );
        assert!(error.to_string().ends_with(&format!("run: chmod 600 {}", path.display())));
    }
    set_mode(&path, 0o400);
    load(&path).expect("a file that only its owner can read");
}

#[test]
fn links_folders_and_fifos_are_refused() {
    let folder = Folder::new("kinds");
    let path = folder.key();
    load_or_create(&path).expect("made");
    let link = folder.0.join("link");
    symlink(&path, &link).expect("a link");
    let dangling = folder.0.join("dangling");
    symlink(folder.0.join("none"), &dangling).expect("a link");
    let fifo = folder.0.join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().expect("mkfifo runs").success());
    for other in [&link, &dangling, &fifo, &folder.0] {
        let error = load_or_create(other).expect_err("not a regular file");
        assert!(matches!(error, KeyFileError::NotRegular(_)), "{error:?}");
    }
    assert!(!folder.0.join("none").exists());
}

#[test]
fn other_contents_are_refused_and_kept() {
    let folder = Folder::new("contents");
    let path = folder.0.join("key");
    let truncated = SecretKey::from_seed([1; 32]).to_pem().as_bytes()[..60].to_vec();
    for contents in [&b""[..], b"junk", &truncated, &[b'a'; 100_000]] {
        fs::write(&path, contents).expect("written");
        set_mode(&path, 0o600);
        let error = load_or_create(&path).expect_err("no key");
        assert!(matches!(error, KeyFileError::NoKey(_)), "{error:?}");
        assert_eq!(fs::read(&path).expect("readable"), contents);
    }
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let folder = Folder::new("blocked");
    fs::write(folder.0.join("windlass"), "").expect("a file in the way");
    let error = load_or_create(&folder.key()).expect_err("blocked");
    assert!(error.to_string().contains("windlass/tou/key"), "{error}");
}

#[test]
fn openssl_and_windlass_read_each_others_keys() {
    if skip_unless(&[Need::Program("openssl")]) {
        return;
    }
    let folder = Folder::new("openssl");
    let path = folder.key();
    let ours = load_or_create(&path).expect("made");
    let spki = Command::new("openssl")
        .args(["pkey", "-pubout", "-outform", "DER", "-in"])
        .arg(&path)
        .output()
        .expect("openssl runs");
    assert_eq!(spki.stdout, ours.public_key().to_spki_der());

    let theirs = folder.0.join("theirs");
    let made = Command::new("openssl")
        .args(["genpkey", "-algorithm", "ed25519", "-out"])
        .arg(&theirs)
        .status()
        .expect("openssl runs");
    assert!(made.success());
    set_mode(&theirs, 0o600);
    load(&theirs).expect("a key of OpenSSL");
}

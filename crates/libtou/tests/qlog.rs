//! TOU_QLOG: each connection writes a file.

#[expect(dead_code, reason = "each test uses a part")]
mod common;

use common::{Api, Outcome};
use libc::{c_int, socklen_t};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use tou::abi::{SOL_TOU, TOU_QLOG};
use windlass_testbed::unique;

const TOU: Api = Api::Tou;

fn set_folder(fd: c_int, path: &Path) -> Outcome {
    let text = path.as_os_str().as_bytes();
    let len = text.len() as socklen_t;
    TOU.setsockopt_raw(fd, (SOL_TOU, TOU_QLOG), text.as_ptr().cast(), len)
}

#[test]
fn the_option_makes_a_folder_in_which_each_connection_writes() {
    let path = std::env::temp_dir().join(unique("libtou-qlog"));
    let listener = TOU.listener();
    let client = TOU.fresh();
    assert_eq!(set_folder(client, &path), 0);
    assert_eq!(TOU.connect(client, TOU.port(listener)), 0);
    let server = c_int::try_from(TOU.accept(listener)).expect("a connection");
    let files = std::fs::read_dir(&path).expect("made by the option").count();
    assert_eq!(files, 1, "only the client has the option");
    assert!(set_folder(client, &path) < 0, "it is fixed when the connection begins");
    for fd in [client, server, listener] {
        assert_eq!(TOU.close(fd), 0);
    }
    std::fs::remove_dir_all(&path).expect("made by the option");
}

#[test]
fn a_folder_that_cannot_be_made_is_refused() {
    let client = TOU.fresh();
    assert!(set_folder(client, Path::new("/proc/qlog")) < 0);
    assert_eq!(TOU.close(client), 0);
}

//! qlog of real connections: a file for each end, which tells the connection's whole life.

use serde_json::Value;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::thread;
use windlass_testbed::{unique, wait_until};
use windlass_tou::{Options, TouListener, TouStream, qlog};

/// A folder that is removed in the end.
struct Removed(PathBuf);

impl Drop for Removed {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn records(bytes: &[u8]) -> Vec<Value> {
    let texts = bytes.split(|byte| *byte == 0x1e).skip(1);
    texts.map(|text| serde_json::from_slice(text).expect("JSON")).collect()
}

/// All files whose connection has ended.
fn ended(folder: &qlog::Folder) -> Vec<Vec<Value>> {
    let files = std::fs::read_dir(folder.path()).expect("it exists");
    let files = files.map(|file| std::fs::read(file.expect("a file").path()).expect("readable"));
    files.filter(|bytes| bytes.ends_with(b"\n")).map(|bytes| records(&bytes)).collect()
}

fn states(records: &[Value]) -> Vec<&str> {
    let states = records.iter().filter(|record| record["name"] == "tcp:state_updated");
    states.map(|record| record["data"]["new"].as_str().expect("a name")).collect()
}

#[test]
fn both_ends_write_windows_round_trips_and_states() {
    let path = std::env::temp_dir().join(unique("tou-qlog"));
    let folder = qlog::Folder::create(&path).expect("a folder");
    let _removed = Removed(path);
    let options = Options { qlog: Some(folder.clone()), ..Options::default() };
    let listener = TouListener::bind_with("127.0.0.1:0", &options).expect("a port");
    let address = listener.local_addr().expect("bound");
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut received = vec![];
        stream.read_to_end(&mut received).expect("an end in order");
        received.len()
    });
    let mut stream = TouStream::connect_with(address, &options).expect("it listens");
    stream.write_all(&[7; 300_000]).expect("open");
    stream.shutdown(std::net::Shutdown::Write).expect("open");
    stream.finish(None).expect("all arrives");
    drop(stream);
    assert_eq!(server.join().expect("no panic"), 300_000);

    // A file is complete when the connection is gone; the client's waits in TIME-WAIT.
    let mut server = vec![];
    wait_until("the server's file is complete", || {
        let of_server = |one: &Vec<Value>| one[0]["trace"]["vantage_point"]["type"] == "server";
        server = ended(&folder).into_iter().find(of_server).unwrap_or_default();
        states(&server).last() == Some(&"closed")
    });
    // LAST-ACK begins with a call of the application, which no segment reports.
    assert_eq!(states(&server), ["listen", "syn_received", "established", "close_wait", "closed"]);
    let metrics = |name: &str| server.iter().any(|record| record["data"][name].is_number());
    assert!(metrics("congestion_window") && metrics("smoothed_rtt"), "{server:?}");
    assert!(folder.take_error().is_none());
}

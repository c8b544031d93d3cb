//! The cost of each way through the programs, without a network: `paths [REPEATS]` runs
//! single frames through the programs again and again (BPF_PROG_TEST_RUN) and prints the
//! nanoseconds of one run, those of a program that does nothing first, then packets that get an edit,
//! and those of short connections, once each. Needs root and clang.

use libbpf_rs::{ObjectBuilder, ProgramInput};
use std::error::Error;
use std::io::Write;
use std::process::{Command, Stdio};
use windlass_ecn_proxy::datapath::{Datapath, Settings};

const FROM_HOST: &str = "client_in";
const TO_HOST: &str = "client_out";
const ACK: u8 = 0x10;
/// MSS, SACK permitted, timestamps, window scale.
const SYN_OPTIONS: &[u8] = &[2, 4, 5, 0xb4, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 3, 7];
const TIMESTAMPS: &[u8] = &[1, 1, 8, 10, 0, 0, 0, 2, 0, 0, 0, 1];

/// Nanoseconds of a program that does nothing: what the measurement itself costs.
fn time_nothing(frame: &[u8], repeats: u32) -> Result<u128, Box<dyn Error>> {
    const SOURCE: &str = r#"__attribute__((section("tc"))) int nothing(void *skb) { return -1; }"#;
    let mut clang = Command::new("clang")
        .args(["-target", "bpf", "-O2", "-x", "c", "-c", "-o", "-", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    clang.stdin.take().ok_or("no pipe to clang")?.write_all(SOURCE.as_bytes())?;
    let object = ObjectBuilder::default().open_memory(&clang.wait_with_output()?.stdout)?.load()?;
    let program = object.progs_mut().next().ok_or("no program")?;
    let input = ProgramInput { data_in: Some(frame), repeat: repeats, ..ProgramInput::default() };
    Ok(program.test_run(input)?.duration.as_nanos())
}

/// The first port of the short connections.
const PORTS: u16 = 10_000;

/// A frame of Ethernet, IPv4 and TCP; nothing looks at its checksums.
fn frame(from_host: bool, flags: u8, numbers: [u32; 2], options: &[u8], payload: u16) -> Vec<u8> {
    let (host, far) = ([10, 0, 0, 1], [192, 0, 2, 1]);
    let (from, to) = if from_host { (host, far) } else { (far, host) };
    let ports = if from_host { [0x9c, 0x40, 0, 80] } else { [0, 80, 0x9c, 0x40] };
    let header = 20 + options.len() as u16;
    let mut bytes = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0];
    bytes.extend((20 + header + payload).to_be_bytes());
    bytes.extend([0, 1, 0x40, 0, 64, 6, 0, 0]);
    bytes.extend([from, to, ports].concat());
    bytes.extend(numbers.map(u32::to_be_bytes).concat());
    bytes.extend([(header as u8 / 4) << 4, flags, 0x20, 0, 0, 0, 0, 0]);
    bytes.extend(options);
    bytes.resize(bytes.len() + usize::from(payload), 7);
    bytes
}

/// A packet of a short connection: its name, whether the served host sends it, and its frame.
type Step = (&'static str, bool, Vec<u8>);

/// A request and its response, as an HTTP client and server send them.
fn short_connection() -> [Step; 10] {
    let step = |name, from_host, flags, numbers, options, payload| {
        (name, from_host, frame(from_host, flags, numbers, options, payload))
    };
    [
        step("SYN", true, 0x02, [1000, 0], SYN_OPTIONS, 0),
        step("SYN-ACK", false, 0x52, [5000, 1001], SYN_OPTIONS, 0),
        step("ACK", true, ACK, [1001, 5001], TIMESTAMPS, 0),
        step("request", true, 0x18, [1001, 5001], TIMESTAMPS, 80),
        step("ACK of the request", false, ACK, [5001, 1081], TIMESTAMPS, 0),
        step("response", false, 0x18, [5001, 1081], TIMESTAMPS, 900),
        step("ACK of the response", true, ACK, [1081, 5901], TIMESTAMPS, 0),
        step("FIN of the far host", false, 0x11, [5901, 1081], TIMESTAMPS, 0),
        step("FIN of the host", true, 0x11, [1081, 5902], TIMESTAMPS, 0),
        step("last ACK", false, ACK, [5902, 1082], TIMESTAMPS, 0),
    ]
}

/// Prints the mean nanoseconds of each packet over `count` connections, each from another port.
fn print_short_connections(datapath: &Datapath, count: u16) -> Result<(), Box<dyn Error>> {
    let mut steps = short_connection();
    let mut sums = [0; 10];
    for port in PORTS..PORTS + count {
        for ((_, from_host, frame), sum) in steps.iter_mut().zip(&mut sums) {
            let (program, at) = if *from_host { (FROM_HOST, 34) } else { (TO_HOST, 36) };
            frame[at..at + 2].copy_from_slice(&port.to_be_bytes());
            *sum += datapath.time_frame(program, frame, 1)?.as_nanos();
        }
    }
    for ((name, ..), sum) in steps.iter().zip(sums) {
        println!("short connection, {name}: {} ns", sum / u128::from(count));
    }
    println!("short connection, all: {} ns", sums.iter().sum::<u128>() / u128::from(count));
    Ok(())
}

/// Medians of packets that get an edit: of each a new frame, as the first run changes what it is given.
fn print_edits(datapath: &Datapath, count: u32) -> Result<(), Box<dyn Error>> {
    const PORT: u16 = 9_999;
    let time = |from_host: bool, codepoint: u8, mut frame: Vec<u8>| {
        let (program, at) = if from_host { (FROM_HOST, 34) } else { (TO_HOST, 36) };
        frame[at..at + 2].copy_from_slice(&PORT.to_be_bytes());
        frame[15] = codepoint;
        Ok::<_, Box<dyn Error>>(datapath.time_frame(program, &frame, 1)?.as_nanos())
    };
    for (_, from_host, frame) in short_connection().into_iter().take(3) {
        time(from_host, 0, frame)?;
    }
    let mut columns = [
        ("new data, gets ECT(0)", Vec::new()),
        ("ACK of the far host", Vec::new()),
        ("data of the far host, loses ECT(0)", Vec::new()),
        ("the same with CE, gets PSH too", Vec::new()),
        ("ACK of the host, gets ECE", Vec::new()),
    ];
    let [data, ack, ect, ce, echo] = columns.each_mut().map(|(_, times)| times);
    let (host, far) = (|at: u32| 1001 + 1000 * at, |at: u32| 5001 + 1000 * at);
    for at in 0..count {
        let (next, far_next) = (host(at + 1), far(at + 1));
        data.push(time(true, 0, frame(true, ACK, [host(at), far(at)], TIMESTAMPS, 1000))?);
        ack.push(time(false, 0, frame(false, ACK, [far(at), next], TIMESTAMPS, 0))?);
        ect.push(time(false, 2, frame(false, ACK, [far(at), next], TIMESTAMPS, 1000))?);
        time(true, 0, frame(true, ACK, [next, far_next], TIMESTAMPS, 0))?;
    }
    let sent = host(count);
    for at in count..2 * count {
        ce.push(time(false, 3, frame(false, ACK, [far(at), sent], TIMESTAMPS, 1000))?);
        echo.push(time(true, 0, frame(true, ACK, [sent, far(at + 1)], TIMESTAMPS, 0))?);
    }
    for (name, mut times) in columns {
        times.sort_unstable();
        println!("edit, {name}: {} ns", times[times.len() / 2]);
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let repeats = std::env::args().nth(1).map_or(Ok(1_000_000), |text| text.parse())?;
    let datapath = Datapath::load(&Settings { lease: None, ..Settings::default() })?;
    let print = |what: &str, program: &str, frame: &[u8]| -> Result<(), Box<dyn Error>> {
        println!("{what}: {} ns", datapath.time_frame(program, frame, repeats)?.as_nanos());
        Ok(())
    };
    let data = frame(true, ACK, [1001, 5001], TIMESTAMPS, 1000);
    println!("nothing: {} ns", time_nothing(&data, repeats)?);
    let mut other = data.clone();
    other[23] = 17;
    print("not TCP", FROM_HOST, &other)?;
    print("unknown connection, from the host", FROM_HOST, &data)?;
    let far_ack = frame(false, ACK, [5001, 1001], TIMESTAMPS, 0);
    print("unknown connection, to the host", TO_HOST, &far_ack)?;
    datapath.run_frame(FROM_HOST, &frame(true, 0x02, [1000, 0], SYN_OPTIONS, 0))?;
    datapath.run_frame(TO_HOST, &frame(false, 0x52, [5000, 1001], SYN_OPTIONS, 0))?;
    datapath.run_frame(FROM_HOST, &frame(true, ACK, [1001, 5001], TIMESTAMPS, 0))?;
    print("served, new data", FROM_HOST, &data)?;
    print("served, ACK of the host", FROM_HOST, &frame(true, ACK, [2001, 5001], TIMESTAMPS, 0))?;
    print("served, ACK of the far host", TO_HOST, &far_ack)?;
    let sack = [TIMESTAMPS, &[1, 1, 5, 10, 0, 0, 4, 0xe9, 0, 0, 6, 0xe9]].concat();
    print("served, ACK with a block", TO_HOST, &frame(false, ACK, [5001, 1001], &sack, 0))?;
    print_edits(&datapath, 20_000)?;
    print_short_connections(&datapath, 20_000)
}

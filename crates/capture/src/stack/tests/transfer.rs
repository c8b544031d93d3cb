//! Bytes through a connection: slow readers, and pipes that lose and reorder packets.

use super::*;
use proptest::prelude::*;
use windlass_base::{Rng, Span};

const FAR: &str = "203.0.113.7:80";

#[test]
fn a_slow_far_end_closes_the_window_and_opens_it_again() {
    let (mut stack, mut command, flow) = connected(FAR);
    let data = pattern(2_000_000);
    let (mut written, mut read, mut now) = (0, Vec::new(), Time::ZERO);
    // The far end takes nothing for a while.
    for _ in 0..50 {
        now += Span::from_millis(10);
        written += command.stream.write(&data[written..]).expect("open");
        exchange(&mut stack, &mut command, now);
    }
    let buffer = Config::default().buffer as usize;
    let held = stack.peek(flow).concat().len();
    assert!((buffer * 9 / 10..=buffer).contains(&held), "{held} of {buffer} bytes");
    while read.len() < data.len() {
        now += Span::from_millis(10);
        let bytes = stack.peek(flow).concat();
        stack.consume(flow, bytes.len());
        read.extend(bytes);
        written += command.stream.write(&data[written..]).expect("open");
        exchange(&mut stack, &mut command, now);
        expire(&mut stack, &mut command, now);
    }
    assert!(read == data);
}

#[test]
fn a_slow_command_stops_the_far_end() {
    let (mut stack, mut command, flow) = connected(FAR);
    let data = pattern(9_000_000);
    let mut written = 0;
    for _ in 0..200 {
        written += stack.write(flow, &data[written..]);
        exchange(&mut stack, &mut command, Time::ZERO);
    }
    // The receive buffer of the command, and the stack's own.
    let limit = (4 << 20) + Config::default().buffer as usize;
    assert!(written <= limit, "{written}");
    assert_eq!(stack.writable(flow), 0);
    let (mut read, mut now) = (Vec::new(), Time::ZERO);
    while read.len() < data.len() {
        now += Span::from_millis(10);
        read.extend(command.read());
        exchange(&mut stack, &mut command, now);
        expire(&mut stack, &mut command, now);
        written += stack.write(flow, &data[written..]);
    }
    assert!(read == data);
}

#[test]
fn memory_stays_within_its_limit_and_connections_go_on() {
    let config = Config { memory_max: 1 << 20, ..Config::default() };
    let mut stack = Stack::new(config.clone(), 1);
    let mut commands = Vec::new();
    for port in 1..100 {
        let mut command = Command::connect(ends(&format!("203.0.113.7:{port}")));
        exchange(&mut stack, &mut command, Time::ZERO);
        for event in events(&mut stack) {
            let Event::Connect { flow, .. } = event else { continue };
            stack.accept(Time::ZERO, flow);
            exchange(&mut stack, &mut command, Time::ZERO);
            commands.push((flow, command));
            break;
        }
    }
    assert!(commands.len() >= 4 && commands.len() < 20, "{}", commands.len());
    for (flow, command) in &mut commands {
        command.write(&pattern(100_000));
        exchange(&mut stack, command, Time::ZERO);
        stack.write(*flow, &pattern(100_000));
        exchange(&mut stack, command, Time::ZERO);
    }
    // One connection may pass the limit, each by its buffers.
    let limit = config.memory_max + commands.len() as u64 * 8192 + 2 * config.buffer;
    assert!(stack.memory() <= limit, "{} of {limit}", stack.memory());
    let mut now = Time::ZERO;
    for (flow, command) in &mut commands {
        let (mut up, mut down) = (0, 0);
        while up < 100_000 {
            now += Span::from_millis(10);
            let len = stack.peek(*flow).concat().len();
            stack.consume(*flow, len);
            up += len;
            down += command.read().len();
            exchange(&mut stack, command, now);
            expire(&mut stack, command, now);
        }
        assert!(down > 0);
    }
}

fn expire(stack: &mut Stack, command: &mut Command, now: Time) {
    if stack.poll_timeout().is_some_and(|due| due <= now) {
        stack.handle_timeout(now);
    }
    if command.stream.connection().poll_timeout().is_some_and(|due| due <= now) {
        command.stream.connection_mut().handle_timeout(now, &mut ());
    }
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len as u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) as u8).collect()
}

/// A pipe that loses packets and lets some overtake others.
struct Pipe {
    rng: Rng,
    loss: f64,
    held: Option<Vec<u8>>,
}

impl Pipe {
    fn carry(&mut self, packets: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        let mut out = Vec::new();
        for packet in packets {
            match self.rng.uniform() {
                p if p < self.loss => {}
                p if p < 2.0 * self.loss && self.held.is_none() => self.held = Some(packet),
                _ => {
                    out.push(packet);
                    out.extend(self.held.take());
                }
            }
        }
        out
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(windlass_testbed::cases(48)))]

    #[test]
    fn all_bytes_arrive_in_both_directions(
        seed in any::<u64>(),
        (up_len, down_len) in (0usize..300_000, 0usize..300_000),
        loss in 0.0..0.1f64,
        mss in prop::sample::select(vec![536u16, 1460, 8960, 65_495]),
        mtu in prop::sample::select(vec![1500u16, 9000, 65_535]),
        v6 in any::<bool>(),
    ) {
        let far = if v6 { "[2001:db8::7]:80" } else { FAR };
        let mut stack = Stack::new(Config { mtu, ..Config::default() }, seed);
        let mut command = Command::connect_with(ends(far), mss);
        let pipe = |part| Pipe { rng: Rng::fork(seed, part), loss, held: None };
        let (mut up_pipe, mut down_pipe) = (pipe(1), pipe(2));
        let (up, down) = (pattern(up_len), pattern(down_len));
        let (mut up_read, mut down_read) = (Vec::new(), Vec::new());
        let (mut written, mut answered, mut flow) = (0, 0, None);
        let mut now = Time::ZERO;
        let mut closed = (false, false);
        for _ in 0..200_000 {
            now += Span::from_millis(1);
            if written < up.len() {
                written += command.stream.write(&up[written..]).expect("open");
            } else if !closed.0 {
                command.close(now);
                closed.0 = true;
            }
            for packet in up_pipe.carry(command.packets(now)) {
                stack.handle_packet(now, &packet, false);
            }
            for event in events(&mut stack) {
                match event {
                    Event::Connect { flow: new, .. } => {
                        stack.accept(now, new);
                        flow = Some(new);
                    }
                    Event::Active(_) => {}
                    other => prop_assert!(false, "{:?}", other),
                }
            }
            if let Some(flow) = flow {
                let bytes = stack.peek(flow).concat();
                stack.consume(flow, bytes.len());
                up_read.extend(bytes);
                answered += stack.write(flow, &down[answered..]);
                if answered == down.len() && !closed.1 {
                    stack.close(now, flow);
                    closed.1 = true;
                }
                if closed.1 && stack.is_read_to_the_end(flow) {
                    stack.release(flow);
                }
            }
            for packet in down_pipe.carry(sent(&mut stack, now)) {
                prop_assert!(packet.len() <= usize::from(mtu));
                command.handle_packet(now, &packet);
            }
            down_read.extend(command.read());
            expire(&mut stack, &mut command, now);
            if flow.is_some() && stack.flows() == 0 {
                break;
            }
        }
        prop_assert!(up_read == up && down_read == down);
        prop_assert_eq!(stack.flows(), 0);
        prop_assert_eq!(stack.memory(), 0);
    }

    #[test]
    fn any_bytes_do_no_harm(packets in prop::collection::vec(
        prop::collection::vec(any::<u8>(), 0..200), 0..20), good in any::<bool>()) {
        let mut stack = stack();
        for packet in packets {
            stack.handle_packet(Time::ZERO, &packet, good);
            sent(&mut stack, Time::ZERO);
        }
    }
}

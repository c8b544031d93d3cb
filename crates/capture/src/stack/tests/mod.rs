//! The stack beside the engine as the command's TCP, over a pipe that loses and reorders packets.

mod command;
mod life;
mod names;
mod others;
mod transfer;

use super::*;
use command::{Command, ends};

fn stack() -> Stack {
    Stack::new(Config::default(), 1)
}

fn sent(stack: &mut Stack, now: Time) -> Vec<Vec<u8>> {
    let mut packets = Vec::new();
    stack.transmit(now, &mut |packet: Packet<'_>| packets.push(packet.to_vec()));
    packets
}

fn events(stack: &mut Stack) -> Vec<Event> {
    std::iter::from_fn(|| stack.poll_event()).collect()
}

/// The flow of the only event, which asks for a connection.
fn opening(stack: &mut Stack) -> FlowId {
    match &events(stack)[..] {
        [Event::Connect { flow, .. }] => *flow,
        other => panic!("{other:?}"),
    }
}

/// Carries packets between the command and the stack until neither has any.
fn exchange(stack: &mut Stack, command: &mut Command, now: Time) {
    loop {
        let up = command.packets(now);
        up.iter().for_each(|packet| stack.handle_packet(now, packet, false));
        let down = sent(stack, now);
        down.iter().for_each(|packet| command.handle_packet(now, packet));
        if up.is_empty() && down.is_empty() {
            return;
        }
    }
}

/// A connection of a command that the stack has accepted.
fn connected(far: &str) -> (Stack, Command, FlowId) {
    let (mut stack, mut command) = (stack(), Command::connect(ends(far)));
    exchange(&mut stack, &mut command, Time::ZERO);
    let flow = opening(&mut stack);
    stack.accept(Time::ZERO, flow);
    exchange(&mut stack, &mut command, Time::ZERO);
    assert_eq!(command.event(), Some(TcpEvent::Connected));
    events(&mut stack);
    (stack, command, flow)
}

use windlass_tcp::Event as TcpEvent;

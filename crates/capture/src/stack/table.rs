//! The connections of a stack by number and by their ends, with their timers.

use super::flow::{Flow, FlowId, Phase};
use crate::packet::Ends;
use slab::Slab;
use std::collections::BTreeMap;
use windlass_base::{Deadlines, Time};
use windlass_tcp::stream::Stream;

#[derive(Debug, Default)]
pub(super) struct Table {
    flows: Slab<Flow>,
    by_ends: BTreeMap<Ends, u32>,
    timers: Deadlines<u32>,
    memory: u64,
    next_serial: u32,
}

impl Table {
    pub(super) fn len(&self) -> usize {
        self.flows.len()
    }

    pub(super) fn memory(&self) -> u64 {
        self.memory
    }

    pub(super) fn find(&self, ends: &Ends) -> Option<u32> {
        self.by_ends.get(ends).copied()
    }

    /// A flow by its identifier, with its index; `None` if it has ended.
    pub(super) fn get(&mut self, id: FlowId) -> Option<(u32, &mut Flow)> {
        let flow = self.at(id.index).filter(|flow| flow.serial == id.serial)?;
        Some((id.index, flow))
    }

    /// The stream of an accepted flow.
    pub(super) fn stream(&self, id: FlowId) -> Option<&Stream> {
        let flow = self.flows.get(id.index as usize).filter(|flow| flow.serial == id.serial)?;
        match &flow.phase {
            Phase::Open(stream) => Some(stream),
            Phase::Opening { .. } => None,
        }
    }

    pub(super) fn at(&mut self, index: u32) -> Option<&mut Flow> {
        self.flows.get_mut(index as usize)
    }

    pub(super) fn insert(&mut self, mut flow: Flow) -> u32 {
        self.next_serial = self.next_serial.wrapping_add(1);
        flow.serial = self.next_serial;
        let ends = flow.ends;
        let index = self.flows.insert(flow) as u32;
        self.by_ends.insert(ends, index);
        self.update(index);
        index
    }

    /// Records the flow's next deadline and its buffered bytes.
    pub(super) fn update(&mut self, index: u32) {
        let Some(flow) = self.flows.get_mut(index as usize) else { return };
        let (timer, memory) = (flow.poll_timeout(), flow.memory());
        self.timers.set(&mut flow.timer, timer, index);
        self.memory = self.memory - flow.entered_memory + memory;
        flow.entered_memory = memory;
    }

    pub(super) fn remove(&mut self, index: u32) {
        let Some(flow) = self.flows.try_remove(index as usize) else { return };
        self.by_ends.remove(&flow.ends);
        self.memory -= flow.entered_memory;
        if let Some(timer) = flow.timer {
            self.timers.remove(timer, index);
        }
    }

    pub(super) fn next_timer(&self) -> Option<Time> {
        self.timers.next()
    }

    /// Removes a timer that has expired, and returns its flow.
    pub(super) fn pop_timer(&mut self, now: Time) -> Option<u32> {
        let (_, index) = self.timers.pop(now)?;
        if let Some(flow) = self.at(index) {
            flow.timer = None;
        }
        Some(index)
    }
}

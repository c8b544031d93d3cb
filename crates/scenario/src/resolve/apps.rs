//! Applications of TCP flows: checks their keys, and makes the simulator's applications of them.

use super::topology::Topology;
use super::traffic;
use crate::keys::{
    AppKeys, ArrivingKeys, LimitedKeys, NumberKeys, PagesKeys, RequestsKeys, ReuseKeys, RuleKeys,
    VideoKeys,
};
use crate::registry::Context;
use std::fmt::Display;
use windlass_base::Span;
use windlass_keys::{Bytes, Located, Location, Positive};
use windlass_sim::model::{Pages, Requests, Reuse, TcpApp, VideoPlayer};
use windlass_tcp as tcp;
use windlass_traffic::dialogue::Dialogue;
use windlass_traffic::page::{self, Page};
use windlass_traffic::video::{Rule, Video};
use windlass_traffic::{Segments, Sizes};

/// Headers of IPv4 and TCP without options, in bytes.
const HEADER_BYTES: u32 = 40;
/// The timestamps option with its padding, in bytes.
const TIMESTAMPS_BYTES: u32 = 12;
const REQUEST_BYTES: u64 = 300;
const PAGE_REQUEST_BYTES: u64 = 400;
const SEGMENT: Span = Span::from_secs(4);
const BUFFER: Span = Span::from_secs(30);

/// A table of flows.
#[derive(Copy, Clone)]
pub(super) struct Group<'a> {
    /// Its number in the file.
    pub number: usize,
    /// How many flows it makes.
    pub flows: usize,
    /// Options of their senders.
    pub sender: &'a tcp::Config,
}

/// The application of the flows of a table; bulk without keys.
pub(super) fn app(
    keys: Option<&Located<AppKeys>>,
    group: Group<'_>,
    topology: &Topology,
    context: &mut Context,
) -> Option<TcpApp> {
    let Some(Located { value: keys, location }) = keys else { return Some(TcpApp::Bulk) };
    match keys {
        AppKeys::Bulk(_) => Some(TcpApp::Bulk),
        AppKeys::Transfer(keys) => Some(TcpApp::Transfer { bytes: keys.size.0 }),
        AppKeys::Repeated(keys) => Some(TcpApp::Repeated {
            bytes: keys.size.0,
            pause: keys.pause,
            exponential: keys.exponential.unwrap_or(false),
            count: count(keys.count),
        }),
        AppKeys::Arrivals(keys) => arriving(keys, group, topology, context),
        AppKeys::Limited(keys) => limited(keys, context),
        AppKeys::Requests(keys) => Some(requests(keys, group.number)),
        AppKeys::Pages(keys) => pages(keys, location, context),
        AppKeys::Video(keys) => video(keys, location, context),
    }
}

fn count(count: Option<Positive>) -> Option<u64> {
    count.map(|count| u64::from(count.0))
}

fn bytes(size: Option<Bytes>, default: u64) -> u64 {
    size.map_or(default, |size| size.0)
}

/// Reports settings that cannot be.
fn checked<T>(
    value: T,
    checked: Result<(), impl Display>,
    location: &Location,
    context: &mut Context,
) -> Option<T> {
    checked.map_err(|error| context.wrong_at(location, error.to_string())).ok()?;
    Some(value)
}

fn arriving(
    keys: &ArrivingKeys,
    Group { flows, sender, .. }: Group<'_>,
    topology: &Topology,
    context: &mut Context,
) -> Option<TcpApp> {
    let options = if sender.extensions.timestamps { TIMESTAMPS_BYTES } else { 0 };
    let segments = Segments {
        mss: u32::from(sender.mss).saturating_sub(options),
        header_bytes: HEADER_BYTES + options,
    };
    let sizes = keys.sizes.as_ref();
    let arrivals = traffic::arrivals(&keys.arrivals, sizes, topology, segments, flows, context)?;
    Some(TcpApp::Arriving { arrivals })
}

fn limited(keys: &LimitedKeys, context: &mut Context) -> Option<TcpApp> {
    let Located { value: interval, location } = &keys.interval;
    if interval.is_zero() {
        context.wrong_at(location, "expected a time above zero".to_owned());
        return None;
    }
    Some(TcpApp::Limited { bytes: keys.size.0, interval: *interval })
}

fn requests(keys: &RequestsKeys, group: usize) -> TcpApp {
    let fixed = Sizes::Fixed(REQUEST_BYTES);
    let request = keys.request.as_ref().map_or(fixed, |sizes| sizes.value.0.clone());
    TcpApp::Requests(Requests {
        dialogue: Dialogue {
            request,
            response: keys.response.value.0.clone(),
            think: keys.think.unwrap_or(Span::ZERO),
            exponential: keys.exponential.unwrap_or(false),
            count: count(keys.count),
        },
        reuse: match keys.connection {
            None | Some(ReuseKeys::Kept) => Reuse::Kept,
            Some(ReuseKeys::New) => Reuse::New,
        },
        barrier: keys.barrier.unwrap_or(false).then_some(group),
    })
}

fn pages(keys: &PagesKeys, location: &Location, context: &mut Context) -> Option<TcpApp> {
    let NumberKeys { min, max } = keys.objects;
    let objects = match min == max {
        true => Sizes::Fixed(u64::from(min)),
        false => Sizes::Uniform { min: u64::from(min), max: u64::from(max) },
    };
    let page = Page {
        request_bytes: bytes(keys.request, PAGE_REQUEST_BYTES),
        document: keys.document.value.0.clone(),
        objects,
        object: keys.object.value.0.clone(),
        connections: keys.connections.map_or(page::CONNECTIONS, |connections| connections.0),
    };
    let valid = page.validate();
    let page = checked(page, valid, location, context)?;
    Some(TcpApp::Pages(Pages {
        page,
        think: keys.think.unwrap_or(Span::ZERO),
        exponential: keys.exponential.unwrap_or(false),
        count: count(keys.count),
    }))
}

fn video(keys: &VideoKeys, location: &Location, context: &mut Context) -> Option<TcpApp> {
    let segment = keys.segment.unwrap_or(SEGMENT);
    let buffer = keys.buffer.unwrap_or(BUFFER);
    let video = Video {
        ladder: keys.ladder.clone(),
        segment,
        segments: count(keys.segments),
        startup: keys.startup.unwrap_or((segment * 2).min(buffer)),
        buffer,
        variation: keys.variation.map_or(0.0, |variation| variation.0),
        rule: rule(&keys.rule, buffer),
    };
    let valid = video.validate();
    let video = checked(video, valid, location, context)?;
    Some(TcpApp::Video(VideoPlayer { video, request: bytes(keys.request, REQUEST_BYTES) }))
}

fn rule(keys: &RuleKeys, buffer: Span) -> Rule {
    match keys {
        RuleKeys::Fixed(keys) => Rule::Fixed { level: keys.level.0 as usize - 1 },
        RuleKeys::Rate(keys) => Rule::Rate {
            window: keys.window.map_or(5, |window| window.0 as usize),
            safety: keys.safety.unwrap_or(0.9),
        },
        RuleKeys::Bba(keys) => Rule::Bba0 {
            reservoir: keys.reservoir.unwrap_or(buffer / 4),
            cushion: keys.cushion.unwrap_or(buffer / 2),
        },
    }
}

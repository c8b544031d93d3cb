//! Traffic: checks its keys against each other, and finds the rate of arrivals for a load.

use super::topology::Topology;
use crate::keys::{ArrivalsKeys, BurstKeys, MediaKeys, OnOffKeys, SizesKeys, UdpKeys};
use crate::registry::{Context, Registry};
use windlass_keys::{Decode, Located, Location};
use windlass_sim::model::{self, ConstantRate, Link, LinkDirection, UdpTraffic};
use windlass_traffic::media::Media;
use windlass_traffic::{Arrivals, OnOff, Process, Segments, Sizes, rate_for_load};

/// The shape of on and off times that is usual (Willinger et al. 1997: 1.2 to 1.7).
const SHAPE: f64 = 1.5;
/// Sizes of UDP packets include their headers.
const PACKETS: Segments = Segments { mss: u32::MAX, header_bytes: 0 };

/// Arrivals with these sizes, which a file of arrivals has itself. A load is a share of the bottleneck's
/// rate, of transfers cut into `segments`, which so many sources have together.
pub(super) fn arrivals(
    keys: &Located<ArrivalsKeys>,
    sizes: Option<&Located<SizesKeys>>,
    topology: &Topology,
    segments: Segments,
    sources: usize,
    context: &mut Context,
) -> Option<Arrivals> {
    if let Some(sizes) = sizes.filter(|_| keys.value.file.is_some()) {
        let message = "expected no sizes beside a file of arrivals, which has its own";
        context.wrong_at(&sizes.location, message.to_owned());
        return None;
    }
    let sizes = sizes.map(|sizes| &sizes.value.0);
    let found = listed(&keys.value)
        .unwrap_or_else(|| drawn(&keys.value, sizes, topology, segments, sources))
        .and_then(|arrivals| match arrivals.validate() {
            Ok(()) => Ok(arrivals),
            Err(error) => Err(error.to_string()),
        });
    found.map_err(|message| context.wrong_at(&keys.location, message)).ok()
}

/// The arrivals of a file; `None` if there is none.
fn listed(keys: &ArrivalsKeys) -> Option<Result<Arrivals, String>> {
    let ArrivalsKeys { rate, load, on_off, count, file } = keys;
    let list = file.as_ref()?.0.clone();
    let alone = rate.is_none() && load.is_none() && on_off.is_none() && count.is_none();
    Some(if alone {
        Ok(Arrivals::Listed(list))
    } else {
        Err("expected no other key beside `file`".to_owned())
    })
}

fn drawn(
    keys: &ArrivalsKeys,
    sizes: Option<&Sizes>,
    topology: &Topology,
    segments: Segments,
    sources: usize,
) -> Result<Arrivals, String> {
    let sizes = sizes.ok_or("expected `sizes` beside it")?;
    let per_second = match (keys.rate, keys.load) {
        (Some(rate), None) => rate,
        (None, Some(load)) => per_second(load / sources as f64, topology, sizes, segments)?,
        _ => return Err("expected either `rate`, `load` or `file`".to_owned()),
    };
    let process = process(per_second, keys.on_off.as_ref());
    let count = keys.count.map(|count| u64::from(count.0));
    Ok(Arrivals::Drawn { process, sizes: sizes.clone(), count })
}

fn process(per_second: f64, bursts: Option<&BurstKeys>) -> Process {
    match bursts {
        None => Process::Poisson { per_second },
        Some(&BurstKeys { on, off, shape }) => {
            let bursts = OnOff { per_second: 1.0, on, off, shape: shape.unwrap_or(SHAPE) };
            Process::ParetoOnOff(bursts).with_mean_rate(per_second)
        }
    }
}

fn per_second(
    load: f64,
    topology: &Topology,
    sizes: &Sizes,
    segments: Segments,
) -> Result<f64, String> {
    let LinkDirection { link, reverse } = topology.bottleneck;
    let Link { forward, backward, .. } = &topology.links[link];
    let rate = if reverse { backward.rate } else { forward.rate };
    let rate = rate.ok_or("load: the bottleneck has no rate that it could be a share of")?;
    rate_for_load(load, rate, sizes, segments).map_err(|error| error.to_string())
}

/// The traffic of the UDP source at `location`: of a constant rate, arrivals, or media.
pub(super) fn udp(
    keys: &UdpKeys,
    location: &Location,
    topology: &Topology,
    context: &mut Context,
) -> Option<UdpTraffic> {
    let UdpKeys { packet_bytes, rate, on_off, arrivals: arriving, sizes, media, .. } = keys;
    let [packet_bytes, rate] = [at(packet_bytes.as_ref()), at(rate.as_ref())];
    let [on_off, sizes_at] = [at(on_off.as_ref()), at(sizes.as_ref())];
    match (arriving, media) {
        (None, None) => {
            refuse([sizes_at], "a constant rate", context)?;
            constant(keys, location, context).map(UdpTraffic::Constant)
        }
        (Some(arriving), None) => {
            refuse([packet_bytes, rate, on_off], "arrivals", context)?;
            let found = arrivals(arriving, sizes.as_ref(), topology, PACKETS, 1, context);
            found.map(UdpTraffic::Arrivals)
        }
        (arriving, Some(media)) => {
            let arriving = at(arriving.as_ref());
            refuse([packet_bytes, rate, on_off, sizes_at, arriving], "media", context)?;
            self::media(media, context).map(UdpTraffic::Media)
        }
    }
}

fn at<T>(keys: Option<&Located<T>>) -> Option<&Location> {
    keys.map(|keys| &keys.location)
}

/// Reports keys that a source does not have; `None` if there were some.
fn refuse<const N: usize>(
    present: [Option<&Location>; N],
    of: &str,
    context: &mut Context,
) -> Option<()> {
    for location in present.iter().flatten() {
        context.wrong_at(location, format!("a source of {of} has no such key"));
    }
    present.iter().all(Option::is_none).then_some(())
}

fn constant(keys: &UdpKeys, location: &Location, context: &mut Context) -> Option<ConstantRate> {
    let on_off = keys.on_off.as_ref().map(|keys| on_off(keys, context));
    let packet_bytes = required(keys.packet_bytes.as_ref(), "packet_bytes", location, context);
    let rate = required(keys.rate.as_ref(), "rate", location, context);
    Some(ConstantRate { packet_bytes: packet_bytes?.0, rate: rate?, on_off })
}

/// A key that a source of this kind must have.
fn required<T: Decode<Registry> + Copy>(
    found: Option<&Located<T>>,
    key: &str,
    location: &Location,
    context: &mut Context,
) -> Option<T> {
    if found.is_none() {
        let location = Location { key: format!("{}.{key}", location.key), ..location.clone() };
        context.wrong_at(&location, format!("missing: expected {}", T::EXPECTED));
    }
    found.map(|found| found.value)
}

fn on_off(keys: &Located<OnOffKeys>, context: &mut Context) -> model::OnOff {
    let OnOffKeys { on, off, exponential } = keys.value;
    if on.is_zero() {
        context.wrong_at(&keys.location, "expected a time above zero for `on`".into());
    }
    model::OnOff { on, off, exponential: exponential.unwrap_or(false) }
}

fn media(keys: &Located<MediaKeys>, context: &mut Context) -> Option<Media> {
    let Located { value: keys, location } = keys;
    let key_frames = keys.key_frames.as_ref();
    let media = Media {
        frames_per_second: keys.frames_per_second.unwrap_or(30.0),
        bitrate: keys.bitrate.0.clone(),
        key_every: key_frames.map_or(1, |keys| keys.every.0),
        key_factor: key_frames.map_or(1.0, |keys| keys.factor),
        packet_bytes: keys.packet_bytes.map_or(1200, |bytes| bytes.0),
        spread: keys.spread.unwrap_or(0.0),
        deadline: keys.deadline,
    };
    match media.validate() {
        Ok(()) => Some(media),
        Err(error) => {
            context.wrong_at(location, error.to_string());
            None
        }
    }
}

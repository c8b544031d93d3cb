//! Flows of other transports: their ends, times, transports and applications.

use super::flows::{check_times, ends};
use super::topology::Topology;
use crate::any_kind::AnyKind;
use crate::keys::{
    EndpointAppKeys, EndpointKeys, FixedWindowKeys, OpensKeys, StackKeys, StackKind,
};
use crate::registry::Context;
use std::sync::Arc;
use windlass_base::Span;
use windlass_keys::{Located, Name};
use windlass_sim::endpoint::{EndpointFactory, FixedWindow};
use windlass_sim::model::{EndpointApp, EndpointFlow, EndpointRequests, Side};

const REQUEST_BYTES: u64 = 300;
/// The number of a datagram of the fixed window alone; the payload of the longest UDP packet over IPv4.
const DATAGRAM_BYTES: std::ops::RangeInclusive<u64> = 8..=65_507;

/// The flows, and their names.
pub(super) fn endpoints(
    keys: &[Located<EndpointKeys>],
    topology: &Topology,
    duration: Span,
    context: &mut Context,
) -> (Vec<EndpointFlow>, Vec<Located<Name>>) {
    let (mut flows, mut names) = (Vec::new(), Vec::new());
    for (index, Located { value: keys, location }) in keys.iter().enumerate() {
        let default = || Located {
            value: Name(format!("endpoint{}", index + 1)),
            location: location.clone(),
        };
        let name = keys.name.clone().unwrap_or_else(default);
        flows.extend(flow(keys, &name.value.0, topology, duration, context));
        names.push(name);
    }
    (flows, names)
}

fn flow(
    keys: &EndpointKeys,
    name: &str,
    topology: &Topology,
    duration: Span,
    context: &mut Context,
) -> Option<EndpointFlow> {
    check_times(keys.start.as_ref(), keys.stop.as_ref(), duration, context);
    let app = app(keys.app.as_ref().map(|app| &app.value));
    let opens = opens(keys.opens.as_ref(), &app, context);
    let sender = stack(&keys.stack, &app, context);
    let receiver = match &keys.receiver_stack {
        Some(keys) => stack(keys, &app, context),
        None => sender.clone(),
    };
    let (from, to) = ends(&keys.from, keys.to.as_ref(), topology, context)?;
    Some(EndpointFlow {
        name: name.to_owned(),
        from,
        to,
        start: keys.start.as_ref().map_or(Span::ZERO, |start| start.value),
        stop: keys.stop.as_ref().map(|stop| stop.value),
        opens: opens?,
        app,
        ends: [sender?, receiver?],
    })
}

fn app(keys: Option<&EndpointAppKeys>) -> EndpointApp {
    match keys {
        None | Some(EndpointAppKeys::Bulk(_)) => EndpointApp::Bulk,
        Some(EndpointAppKeys::Transfer(keys)) => EndpointApp::Transfer { bytes: keys.size.0 },
        Some(EndpointAppKeys::Requests(keys)) => EndpointApp::Requests(EndpointRequests {
            request: keys.request.map_or(REQUEST_BYTES, |request| request.0),
            response: keys.response.0,
            think: keys.think.unwrap_or(Span::ZERO),
            count: keys.count.map(|count| u64::from(count.0)),
        }),
    }
}

fn opens(
    keys: Option<&Located<OpensKeys>>,
    app: &EndpointApp,
    context: &mut Context,
) -> Option<Side> {
    let asks = matches!(app, EndpointApp::Requests(_));
    match keys {
        Some(Located { value: OpensKeys::Sender, location }) if asks => {
            let message = "with requests, the receiver opens the connection";
            context.wrong_at(location, message.to_owned());
            None
        }
        Some(Located { value: OpensKeys::Receiver, .. }) => Some(Side::Receiver),
        None if asks => Some(Side::Receiver),
        Some(Located { value: OpensKeys::Sender, .. }) | None => Some(Side::Sender),
    }
}

/// The transport of an end, if it can run the application.
fn stack(
    keys: &Located<StackKind>,
    app: &EndpointApp,
    context: &mut Context,
) -> Option<Arc<dyn EndpointFactory>> {
    let factory = match &keys.value {
        AnyKind::Custom(factory, _) => Arc::clone(factory),
        AnyKind::Known(StackKeys::FixedWindow(keys)) => Arc::new(fixed_window(keys, context)?),
    };
    if let Err(message) = factory.check(app) {
        context.wrong_at(&keys.location, message);
        return None;
    }
    Some(factory)
}

fn fixed_window(keys: &FixedWindowKeys, context: &mut Context) -> Option<FixedWindow> {
    let mut factory = FixedWindow::default();
    factory.window = keys.window.map_or(factory.window, |window| u64::from(window.0));
    if let Some(Located { value, location }) = &keys.datagram {
        if !DATAGRAM_BYTES.contains(&value.0) {
            let message = format!("expected 8 to 65507 bytes, found {}", value.0);
            context.wrong_at(location, message);
            return None;
        }
        factory.datagram_bytes = value.0 as u32;
    }
    if let Some(Located { value, location }) = &keys.timeout {
        if value.is_zero() {
            context.wrong_at(location, "expected a time above zero".to_owned());
            return None;
        }
        factory.timeout = *value;
    }
    Some(factory)
}

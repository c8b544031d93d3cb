//! Queue disciplines: their names, their settings, and the queue of a link. Each discipline has a file,
//! with its keys and how they become the settings of `windlass-aqm`.

mod action;
mod codel;
mod droptail;
mod dual_pi2;
mod fixed_probability;
mod fq_codel;
mod pie;
mod red;
mod sred;
mod tc_red;

use crate::any_kind::{AnyKind, KnownKinds};
use crate::names::look_up;
use crate::registry::{Context, Kind, Registry, Settings};
use crate::units::NoSettingsKeys;
use serde_json::json;
use std::path::PathBuf;
use windlass_aqm as aqm;
use windlass_base::BitRate;
use windlass_keys::{Choice, Decode, Definitions, Located, Location, Named, Node, Value, choice};

/// Lists the disciplines once: the keys of each, which have a method `config`, under its name.
macro_rules! disciplines {
    ($($(#[doc = $doc:literal])+ $variant:ident($keys:ty) = $kind:literal,)+) => {
        choice! {
            /// A queue discipline and its settings.
            enum QueueKeys as "a queue discipline" {
                $($(#[doc = $doc])+ $variant($keys) = $kind,)+
            }
        }

        impl QueueKeys {
            fn config(&self, context: &mut Context) -> aqm::Config {
                match self {
                    $(QueueKeys::$variant(keys) => keys.config(context),)+
                }
            }
        }
    };
}

disciplines! {
    /// First in, first out; what does not fit is lost.
    DropTail(droptail::DropTailKeys) = "droptail",
    /// Random early detection (Floyd and Jacobson 1993).
    Red(red::RedKeys) = "red",
    /// RED that sets p_max by itself (Floyd, Gummadi and Shenker 2001).
    AdaptiveRed(red::AdaptiveRedKeys) = "adaptive-red",
    /// RED whose p_max moves when the average leaves its thresholds (Feng and others 1999).
    SelfConfiguringRed(red::SelfConfiguringRedKeys) = "self-configuring-red",
    /// Stabilized RED (Ott, Lakshman and Wong 1999).
    Sred(sred::SredKeys) = "sred",
    /// Each packet with the same probability, whatever waits.
    FixedProbability(fixed_probability::FixedProbabilityKeys) = "fixed-probability",
    /// CoDel (RFC 8289).
    CoDel(codel::CoDelKeys) = "codel",
    /// FQ-CoDel (RFC 8290).
    FqCoDel(fq_codel::FqCoDelKeys) = "fq-codel",
    /// PIE (RFC 8033).
    Pie(pie::PieKeys) = "pie",
    /// DualPI2 (RFC 9332).
    DualPi2(dual_pi2::DualPi2Keys) = "dualpi2",
    /// RED as Linux has it: the parameters of `tc red`, the arithmetic of its kernel.
    TcRed(tc_red::TcRedKeys) = "tc-red",
}

impl KnownKinds for QueueKeys {
    type Custom = aqm::Config;
    type Beside = NoSettingsKeys;

    fn added(registry: &Registry) -> &[Kind<Self::Custom>] {
        &registry.queues
    }
}

/// A discipline with its settings: one of Windlass's, or one of the registry's.
#[derive(Clone, Debug)]
pub struct QueueKind(AnyKind<QueueKeys>);

impl QueueKind {
    /// The settings of the queue. Reports those that cannot work at `location`.
    pub(crate) fn config(&self, location: &Location, context: &mut Context) -> aqm::Config {
        let keys = match &self.0 {
            AnyKind::Custom(config, _) => return config.clone(),
            AnyKind::Known(keys) => keys,
        };
        let config = keys.config(context);
        if let Err(error) = config.validate() {
            context.wrong_at(location, error.to_string());
        }
        config
    }
}

impl Decode<Registry> for QueueKind {
    const EXPECTED: &'static str = <QueueKeys as Decode<Registry>>::EXPECTED;

    fn decode(node: &Node, context: &mut Context) -> Option<Self> {
        AnyKind::decode(node, context).map(QueueKind)
    }

    fn schema(definitions: &mut Definitions<Registry>) -> serde_json::Value {
        AnyKind::<QueueKeys>::schema(definitions)
    }
}

/// The queue of a link: one of a document's queues by its name, a kind with its defaults, or its settings.
#[derive(Clone, Debug)]
pub struct QueueRef(Ref);

#[derive(Clone, Debug)]
enum Ref {
    Name(Located<String>),
    Settings(Located<QueueKind>),
}

impl Decode<Registry> for QueueRef {
    const EXPECTED: &'static str = "the name of a queue, or a table with `kind`";

    fn decode(node: &Node, context: &mut Context) -> Option<Self> {
        match node.value {
            Value::Text(_) => Located::decode(node, context).map(Ref::Name).map(QueueRef),
            Value::Table(_) => Located::decode(node, context).map(Ref::Settings).map(QueueRef),
            _ => context.unexpected::<Self, _>(node),
        }
    }

    fn schema(definitions: &mut Definitions<Registry>) -> serde_json::Value {
        // Any text may be the name of a queue, which a kind's own name is as well.
        json!({ "anyOf": [{ "type": "string" }, QueueKind::schema(definitions)] })
    }
}

/// The named queues: those of a document, and each kind with its defaults.
#[derive(Clone, Debug)]
pub struct Queues {
    names: Vec<String>,
    configs: Vec<aqm::Config>,
}

impl Queues {
    /// The queues that a document names, and all kinds.
    pub fn new(named: Option<&Named<QueueKind>>, context: &mut Context) -> Queues {
        let mut queues = Queues { names: Vec::new(), configs: Vec::new() };
        for (name, keys) in named.map_or(&[][..], |named| &named.0) {
            let config = keys.value.config(&keys.location, context);
            queues.add(name, config);
        }
        // One that requires a setting has no defaults, and cannot be meant by its name alone.
        for kind in &context.registry().queues {
            if let Ok(config) = (kind.build)(Settings::new()) {
                queues.add(kind.name, config);
            }
        }
        let mut aside = Context::new(Registry::default(), PathBuf::new());
        for kind in QueueKeys::KINDS {
            if let Some(keys) = QueueKeys::decode(&Node::text(kind), &mut aside) {
                queues.add(kind, keys.config(&mut aside));
            }
        }
        queues
    }

    fn add(&mut self, name: &str, config: aqm::Config) {
        self.names.push(name.to_owned());
        self.configs.push(config);
    }

    /// The queue of a link with this rate. `None` after reporting the problem.
    pub fn resolve(
        &self,
        queue: &QueueRef,
        rate: Option<BitRate>,
        context: &mut Context,
    ) -> Option<aqm::Config> {
        let (config, location) = match &queue.0 {
            Ref::Name(name) => {
                let index = look_up(name, "the name of a queue", &self.names, context)?;
                (self.configs[index].clone(), &name.location)
            }
            Ref::Settings(Located { value, location }) => {
                (value.config(location, context), location)
            }
        };
        if let aqm::Config::Red(aqm::RedConfig { weight: None, .. }) = config
            && rate.is_none()
        {
            let message = "the weight comes from the link's rate: expected a rate on this link";
            context.wrong_at(location, message.into());
        }
        Some(config)
    }
}

/// Reports each queue of a scenario that has the name of a kind, and leaves it out.
pub(crate) fn check_names(named: Option<&mut Named<QueueKind>>, context: &mut Context) {
    let Some(Named(queues)) = named else { return };
    queues.retain(|(name, keys)| {
        let is_kind = QueueKeys::KINDS.contains(&name.as_str());
        if is_kind {
            let message = format!("{name:?} is the name of a kind; choose another name");
            context.wrong_at(&keys.location, message);
        }
        !is_kind
    });
}

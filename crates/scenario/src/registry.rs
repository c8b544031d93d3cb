//! Controllers, queue disciplines, middleboxes and transports of other crates, under names that scenarios use.

use serde::de::DeserializeOwned;
use serde_json::Map;
use std::sync::Arc;
use windlass_aqm::{self as aqm, QueueFactory};
use windlass_sim::MiddleboxFactory;
use windlass_sim::endpoint::EndpointFactory;
use windlass_tcp::cc::ControllerFactory;

/// Kinds of your own, which scenarios name beside Windlass's.
///
/// A kind is a factory that serde can read: its fields are the settings of the kind in a scenario.
/// [`settings`](crate::settings) reads times, rates and sizes with their units.
///
/// ```
/// use windlass_scenario::Registry;
/// use windlass_tcp::cc::{Controller, ControllerFactory, Params, Reno};
///
/// #[derive(Debug, Default, serde::Deserialize)]
/// #[serde(default, deny_unknown_fields)]
/// struct Mine {
///     gain: f64,
/// }
///
/// impl ControllerFactory for Mine {
///     fn name(&self) -> &'static str {
///         "mine"
///     }
///     fn build(&self, params: &Params) -> Box<dyn Controller> {
///         Reno.build(params)
///     }
/// }
///
/// let registry = Registry::default().controller::<Mine>("mine");
/// let text = r#"
///     schema = 1
///     name = "one-flow"
///     duration = "1s"
///     flows = [{ from = "s1", controller = { kind = "mine", gain = 2 } }]
///     [dumbbell]
///     access = [{ delay = "1ms" }]
///     bottleneck = { rate = "10Mbit/s", delay = "5ms" }
/// "#;
/// let document = registry.read_toml("one-flow.toml", text, &[])?;
/// assert_eq!(document.scenario.flows[0].sender.congestion.name(), "mine");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Registry {
    pub(crate) controllers: Vec<Kind<Arc<dyn ControllerFactory>>>,
    pub(crate) queues: Vec<Kind<aqm::Config>>,
    pub(crate) middleboxes: Vec<Kind<Arc<dyn MiddleboxFactory>>>,
    pub(crate) endpoints: Vec<Kind<Arc<dyn EndpointFactory>>>,
}

impl Registry {
    /// Adds a congestion controller. A name that is taken already means the last one added; Windlass's
    /// own names cannot be taken.
    #[must_use]
    pub fn controller<F>(mut self, name: &'static str) -> Registry
    where
        F: ControllerFactory + DeserializeOwned + 'static,
    {
        add(&mut self.controllers, name, |settings| Ok(Arc::new(from_settings::<F>(settings)?)));
        self
    }

    /// Adds a queue discipline, as [`Registry::controller`] a controller.
    #[must_use]
    pub fn queue<F>(mut self, name: &'static str) -> Registry
    where
        F: QueueFactory + DeserializeOwned + 'static,
    {
        add(&mut self.queues, name, |settings| {
            let config = aqm::Config::custom(from_settings::<F>(settings)?);
            config.validate().map_err(|error| error.to_string())?;
            Ok(config)
        });
        self
    }

    /// Adds a middlebox, as [`Registry::controller`] a controller. Its settings in a scenario stand
    /// beside `kind` and `node`.
    #[must_use]
    pub fn middlebox<F>(mut self, name: &'static str) -> Registry
    where
        F: MiddleboxFactory + DeserializeOwned + 'static,
    {
        add(&mut self.middleboxes, name, |settings| Ok(Arc::new(from_settings::<F>(settings)?)));
        self
    }

    /// Adds a transport, which flows of `endpoints` name as their `stack`, as [`Registry::controller`] a controller.
    #[must_use]
    pub fn endpoint<F>(mut self, name: &'static str) -> Registry
    where
        F: EndpointFactory + DeserializeOwned + 'static,
    {
        add(&mut self.endpoints, name, |settings| Ok(Arc::new(from_settings::<F>(settings)?)));
        self
    }

    /// The names of the transports, without Windlass's.
    pub fn endpoint_names(&self) -> Vec<&'static str> {
        self.endpoints.iter().map(|kind| kind.name).collect()
    }

    /// The transport of that name with these settings; `None` if it is not of this registry.
    ///
    /// # Errors
    ///
    /// The settings cannot be: why.
    pub fn endpoint_by_name(
        &self,
        name: &str,
        settings: Map<String, serde_json::Value>,
    ) -> Option<Result<Arc<dyn EndpointFactory>, String>> {
        let kind = self.endpoints.iter().find(|kind| kind.name == name)?;
        Some((kind.build)(settings))
    }

    /// The names of the controllers, without Windlass's.
    pub fn controller_names(&self) -> Vec<&'static str> {
        self.controllers.iter().map(|kind| kind.name).collect()
    }

    /// The controller of that name with its default settings; `None` if it is not of this registry.
    ///
    /// # Errors
    ///
    /// The controller has no defaults: what it requires.
    pub fn controller_by_name(
        &self,
        name: &str,
    ) -> Option<Result<Arc<dyn ControllerFactory>, String>> {
        let kind = self.controllers.iter().find(|kind| kind.name == name)?;
        Some((kind.build)(Map::new()))
    }
}

/// The context of a reader that knows the kinds of a registry.
pub(crate) type Context = windlass_keys::Context<Registry>;

/// The keys of a kind's table, without those that the scenario reads itself.
pub(crate) type Settings = Map<String, serde_json::Value>;

/// A kind of a registry.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Kind<T> {
    pub(crate) name: &'static str,
    pub(crate) build: fn(Settings) -> Result<T, String>,
}

fn add<T>(kinds: &mut Vec<Kind<T>>, name: &'static str, build: fn(Settings) -> Result<T, String>) {
    kinds.retain(|kind| kind.name != name);
    kinds.push(Kind { name, build });
}

fn from_settings<F: DeserializeOwned>(settings: Settings) -> Result<F, String> {
    serde_json::from_value(serde_json::Value::Object(settings)).map_err(|error| error.to_string())
}

//! The scenario's middleboxes on their nodes, to be read after the run.

use crate::duplicate_acks::DuplicateAckProxy;
use crate::ecn_proxy::EcnProxy;
use crate::middlebox::Middlebox;
use crate::model::{Middlebox as Device, Scenario};
use crate::network::Network;
use crate::random_stream;
use crate::summary::{CustomCounters, MiddleboxCounters, MiddleboxSummary};
use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

/// The middleboxes of a scenario, in its order.
#[derive(Debug)]
pub(crate) struct Placed(Vec<One>);

enum One {
    EcnProxy(Rc<RefCell<EcnProxy>>),
    DuplicateAcks(Rc<RefCell<DuplicateAckProxy>>),
    Custom(&'static str, Rc<RefCell<Box<dyn Middlebox>>>),
}

impl fmt::Debug for One {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            One::EcnProxy(proxy) => proxy.fmt(f),
            One::DuplicateAcks(proxy) => proxy.fmt(f),
            One::Custom(name, _) => f.write_str(name),
        }
    }
}

impl Placed {
    /// Adds the scenario's middleboxes to their nodes.
    pub(crate) fn new(scenario: &Scenario, seed: u64, network: &mut Network) -> Placed {
        let place = |(number, device): (u32, &Device)| match device {
            Device::EcnProxy { node, served, policy } => {
                let proxy = Rc::new(RefCell::new(EcnProxy::new(*policy, served)));
                network.add_middlebox(*node, Box::new(Rc::clone(&proxy)));
                One::EcnProxy(proxy)
            }
            Device::DuplicateAcks { node, served, variant } => {
                let proxy = Rc::new(RefCell::new(DuplicateAckProxy::new(*variant, served)));
                network.add_middlebox(*node, Box::new(Rc::clone(&proxy)));
                One::DuplicateAcks(proxy)
            }
            Device::Custom { node, factory } => {
                let rng = random_stream::middlebox(seed, number);
                let middlebox = Rc::new(RefCell::new(factory.0.build(rng)));
                network.add_middlebox(*node, Box::new(Rc::clone(&middlebox)));
                One::Custom(factory.0.name(), middlebox)
            }
        };
        Placed((0..).zip(&scenario.middleboxes).map(place).collect())
    }

    /// The node and the counters of each middlebox, in the scenario's order.
    pub(crate) fn summaries(&self, scenario: &Scenario) -> Vec<MiddleboxSummary> {
        let summary = |(device, one): (&Device, &One)| MiddleboxSummary {
            node: scenario.nodes[device.node()].clone(),
            did: match one {
                One::EcnProxy(proxy) => {
                    MiddleboxCounters::EcnProxy(proxy.borrow().counters().clone())
                }
                One::DuplicateAcks(proxy) => {
                    MiddleboxCounters::DuplicateAcks(*proxy.borrow().counters())
                }
                One::Custom(kind, middlebox) => MiddleboxCounters::Custom(CustomCounters {
                    kind,
                    counters: middlebox.borrow().counters().into_iter().collect(),
                }),
            },
        };
        scenario.middleboxes.iter().zip(&self.0).map(summary).collect()
    }
}

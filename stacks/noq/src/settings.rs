//! The settings of noq, and its configuration.

use noq_proto::congestion::{Bbr3Config, CubicConfig, NewRenoConfig};
use noq_proto::{TransportConfig, VarInt};
use serde::Deserialize;
use std::sync::Arc;

/// The kind `noq` of scenario files. Settings that are left out are noq's own.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Noq {
    /// The congestion controller.
    pub controller: Controller,
    /// The initial congestion window in bytes.
    pub initial_window: Option<u64>,
    /// The size of datagrams in bytes from the beginning, at least 1200; the path is not probed for a larger one.
    pub mtu: Option<u16>,
    /// Bytes that a stream may receive before they are read.
    pub stream_receive_window: Option<u32>,
    /// Bytes that a sender keeps until they are acknowledged.
    pub send_window: Option<u64>,
}

/// A congestion controller of noq.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Controller {
    /// CUBIC, noq's default.
    #[default]
    Cubic,
    /// NewReno (RFC 9002 section 7).
    NewReno,
    /// BBR version 3.
    Bbr3,
}

impl Controller {
    /// All of them.
    pub const ALL: [Controller; 3] = [Controller::Cubic, Controller::NewReno, Controller::Bbr3];

    /// Its name in scenario files.
    pub fn name(self) -> &'static str {
        match self {
            Controller::Cubic => "cubic",
            Controller::NewReno => "newreno",
            Controller::Bbr3 => "bbr3",
        }
    }
}

impl Noq {
    /// noq's configuration of a connection.
    pub fn transport(&self) -> TransportConfig {
        let mut transport = TransportConfig::default();
        match self.controller {
            Controller::Cubic => {
                let mut config = CubicConfig::default();
                self.initial_window.map(|bytes| config.initial_window(bytes));
                transport.congestion_controller_factory(Arc::new(config));
            }
            Controller::NewReno => {
                let mut config = NewRenoConfig::default();
                self.initial_window.map(|bytes| config.initial_window(bytes));
                transport.congestion_controller_factory(Arc::new(config));
            }
            Controller::Bbr3 => {
                let mut config = Bbr3Config::default();
                self.initial_window.map(|bytes| config.initial_window(bytes));
                transport.congestion_controller_factory(Arc::new(config));
            }
        }
        if let Some(mtu) = self.mtu {
            transport.initial_mtu(mtu).mtu_discovery_config(None);
        }
        if let Some(bytes) = self.stream_receive_window {
            transport.stream_receive_window(VarInt::from_u32(bytes));
        }
        if let Some(bytes) = self.send_window {
            transport.send_window(bytes);
        }
        transport
    }
}

//! The options of a script and of the command line, and the network that they describe.

use crate::script::{Error, Position, ScriptOption};
use crate::subject::Setup;
use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;
use windlass_base::Span;
use windlass_base::suggest::did_you_mean;

/// The address families of a script's sockets and packets.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum IpVersion {
    /// IPv4 alone.
    #[default]
    V4,
    /// IPv6 alone.
    V6,
    /// Packets of IPv4 from sockets of IPv6.
    Mapped,
}

impl IpVersion {
    /// Every version, by its name in scripts.
    pub const NAMES: [(&'static str, IpVersion); 3] =
        [("ipv4", IpVersion::V4), ("ipv6", IpVersion::V6), ("ipv4-mapped-ipv6", IpVersion::Mapped)];
}

impl FromStr for IpVersion {
    type Err = String;

    fn from_str(text: &str) -> Result<IpVersion, String> {
        let found = IpVersion::NAMES.into_iter().find(|(name, _)| *name == text);
        found.map(|(_, version)| version).ok_or_else(|| {
            let near = did_you_mean(text, IpVersion::NAMES.map(|(name, _)| name));
            format!(
                "no version of IP is named {text:?}: expected ipv4, ipv6 or ipv4-mapped-ipv6{near}"
            )
        })
    }
}

impl fmt::Display for IpVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = IpVersion::NAMES.into_iter().find(|(_, version)| version == self);
        f.write_str(name.map_or("", |(name, _)| name))
    }
}

/// The choices of the command line; a script's own options yield to it, but for the version of IP.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Choice {
    /// The version of IP of scripts that name none.
    pub ip_version: IpVersion,
    /// How far a time may be off, instead of the script's `--tolerance_usecs`.
    pub tolerance: Option<Span>,
    /// Definitions, as of `-D NAME=VALUE`.
    pub definitions: BTreeMap<String, String>,
}

/// How a script runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The version of IP.
    pub ip_version: IpVersion,
    /// The network.
    pub setup: Setup,
    /// How far a time may be off.
    pub tolerance: Span,
    /// How far a time may be off as a part of the time since the event before.
    pub tolerance_ratio: f64,
    /// The clock of timestamps; without it they are not checked.
    pub timestamp_tick: Option<Span>,
    /// A timestamp that was never sent may be echoed: it is scaled from the first one.
    pub echo_scaled: bool,
    /// The script's packets are from a device that puts segments of this payload together, in bytes.
    pub coalesced_mss: Option<u16>,
    /// A packet of the script is one packet; otherwise it may be several segments.
    pub strict_segments: bool,
}

/// The tolerance of packetdrill.
const TOLERANCE: Span = Span::from_micros(4000);
/// The error of the kernel's timer wheel.
const TOLERANCE_RATIO: f64 = 0.125;
const PORT: u16 = 8080;
/// Of IPv6, so that its MSS is that of IPv4.
const MTU_V6: u32 = 1520;
const MTU_V4: u32 = 1500;

impl Settings {
    /// Those of a script that has these options.
    ///
    /// # Errors
    ///
    /// An option that packetdrill does not have, or a value that it does not take.
    pub fn new(options: &[ScriptOption], choice: &Choice) -> Result<Settings, Error> {
        let mut settings = Settings::of(version(options, choice)?);
        for option in options {
            settings
                .apply(option)
                .map_err(|message| Error { position: option.position, message })?;
        }
        if let Some(tolerance) = choice.tolerance {
            settings.tolerance = tolerance;
        }
        let Setup { local, remote, .. } = settings.setup;
        if local.is_ipv4() != remote.is_ipv4()
            || local.is_ipv4() == (settings.ip_version == IpVersion::V6)
        {
            let position =
                options.first().map_or(Position { line: 1, column: 1 }, |option| option.position);
            let message = format!(
                "the addresses {local} and {remote} are not those of {}",
                settings.ip_version
            );
            return Err(Error { position, message });
        }
        Ok(settings)
    }

    fn of(ip_version: IpVersion) -> Settings {
        let is_v6 = ip_version == IpVersion::V6;
        // RFC 5737 and RFC 4193: the addresses of the kernel's own runs, by which Fast Open's cookies are made.
        let (local, remote): (IpAddr, IpAddr) = if is_v6 {
            let local = Ipv6Addr::new(0xfd3d, 0x0a0b, 0x17d6, 0, 0, 0, 0, 1);
            (local.into(), Ipv6Addr::new(0xfd3d, 0xfa7b, 0xd17d, 0, 0, 0, 0, 1).into())
        } else {
            (Ipv4Addr::new(192, 168, 0, 1).into(), Ipv4Addr::new(192, 0, 2, 1).into())
        };
        let setup = Setup {
            local,
            prefix_len: if is_v6 { 48 } else { 16 },
            remote,
            local_port: PORT,
            remote_port: PORT,
            mapped: ip_version == IpVersion::Mapped,
            mtu: if is_v6 { MTU_V6 } else { MTU_V4 },
        };
        Settings {
            ip_version,
            setup,
            tolerance: TOLERANCE,
            tolerance_ratio: TOLERANCE_RATIO,
            timestamp_tick: None,
            echo_scaled: false,
            coalesced_mss: None,
            strict_segments: false,
        }
    }

    fn apply(&mut self, option: &ScriptOption) -> Result<(), String> {
        let name = option.name.as_str();
        let Some(&(_, takes_value)) = OPTIONS.iter().find(|(known, _)| *known == name) else {
            let near = did_you_mean(name, OPTIONS.map(|(name, _)| name));
            return Err(format!("scripts have no option --{name}{near}"));
        };
        let value = match (&option.value, takes_value) {
            (Some(value), true) => value.as_str(),
            (None, false) => "",
            (Some(_), false) => return Err(format!("--{name} takes no value")),
            (None, true) => return Err(format!("--{name} takes a value: expected --{name}=VALUE")),
        };
        let setup = &mut self.setup;
        match name {
            "local_ip" => setup.local = parsed(name, value)?,
            // packetdrill takes a prefix behind it, which is of no use here.
            "remote_ip" => setup.remote = parsed(name, value.split('/').next().unwrap_or(value))?,
            "netmask_ip" => setup.prefix_len = prefix_len(parsed(name, value)?)?,
            "bind_port" => setup.local_port = parsed(name, value)?,
            "connect_port" => setup.remote_port = parsed(name, value)?,
            "mss" => self.coalesced_mss = Some(parsed(name, value)?),
            "mtu" => setup.mtu = parsed(name, value)?,
            "tolerance_usecs" => self.tolerance = Span::from_micros(parsed(name, value)?),
            "tolerance_percent" => self.tolerance_ratio = percent(parsed(name, value)?)?,
            "tcp_ts_tick_usecs" => {
                self.timestamp_tick =
                    Some(Span::from_micros(parsed(name, value)?)).filter(|tick| !tick.is_zero());
            }
            "tcp_ts_ecr_scaled" => self.echo_scaled = true,
            "strict_segments" => self.strict_segments = true,
            _ => {}
        }
        Ok(())
    }

    /// The names that the kernel's runs of its scripts define: Fast Open's cookies for the key and the addresses that
    /// they have, and control messages by the version of IP.
    pub(crate) fn usual_definitions(ip_version: IpVersion) -> BTreeMap<String, String> {
        let cookies = match ip_version {
            IpVersion::V6 => ["c1d1e9742a47a9bc", "82af1a8f9a205c34"],
            IpVersion::V4 | IpVersion::Mapped => ["3021b9d889017eeb", "b7c12350a90dc8f5"],
        };
        let control = match ip_version {
            IpVersion::V4 => ["SOL_IP", "IP_RECVERR"],
            IpVersion::V6 | IpVersion::Mapped => ["SOL_IPV6", "IPV6_RECVERR"],
        };
        let names = ["TFO_COOKIE", "TFO_COOKIE_ZERO", "CMSG_LEVEL_IP", "CMSG_TYPE_RECVERR"];
        let values = cookies.into_iter().chain(control);
        names
            .into_iter()
            .zip(values)
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }
}

/// The version of IP: the script's, or else that of the command line.
pub(crate) fn version(options: &[ScriptOption], choice: &Choice) -> Result<IpVersion, Error> {
    let own = options.iter().rev().find(|option| option.name == "ip_version");
    let Some(option) = own else { return Ok(choice.ip_version) };
    let parsed = option.value.as_deref().unwrap_or_default().parse();
    parsed.map_err(|message| Error { position: option.position, message })
}

/// The options of packetdrill, and whether they take a value. Those that are not in [`Settings::apply`] have no meaning here:
/// they are for packetdrill's own network or its Python, or are read elsewhere.
const OPTIONS: [(&str, bool); 36] = [
    ("ip_version", true),
    ("bind_port", true),
    ("code_command", true),
    ("code_format", true),
    ("code_sockopt", true),
    ("connect_port", true),
    ("remote_ip", true),
    ("local_ip", true),
    ("gateway_ip", true),
    ("netmask_ip", true),
    ("init_scripts", true),
    ("speed", true),
    ("mss", true),
    ("mtu", true),
    ("tolerance_usecs", true),
    ("tolerance_percent", true),
    ("tcp_ts_ecr_scaled", false),
    ("tcp_ts_tick_usecs", true),
    ("strict_segments", false),
    ("non_fatal", true),
    ("dry_run", false),
    ("is_anyip", false),
    ("send_omit_free", false),
    ("psp_udp_port", true),
    ("debug", false),
    ("define", true),
    ("verbose", false),
    ("wire_client", false),
    ("wire_server", false),
    ("wire_server_ip", true),
    ("wire_server_at", true),
    ("wire_server_port", true),
    ("wire_client_dev", true),
    ("wire_server_dev", true),
    ("so_filename", true),
    ("so_flags", true),
];

fn parsed<T: FromStr>(name: &str, value: &str) -> Result<T, String> {
    value.parse().map_err(|_| format!("--{name} does not take {value:?}"))
}

fn percent(value: f64) -> Result<f64, String> {
    match value {
        0.0..=100.0 => Ok(value / 100.0),
        _ => Err(format!("--tolerance_percent does not take {value}: expected 0 to 100")),
    }
}

fn prefix_len(mask: Ipv4Addr) -> Result<u8, String> {
    let bits = u32::from(mask);
    let len = bits.leading_ones();
    match bits.checked_shl(len).unwrap_or(0) {
        0 => Ok(len as u8),
        _ => Err(format!("--netmask_ip does not take {mask}: expected ones, then zeros")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(options: &[(&str, Option<&str>)]) -> Result<Settings, String> {
        let position = Position { line: 1, column: 1 };
        let option = |&(name, value): &(&str, Option<&str>)| ScriptOption {
            position,
            name: name.to_owned(),
            value: value.map(str::to_owned),
        };
        let options: Vec<ScriptOption> = options.iter().map(option).collect();
        Settings::new(&options, &Choice::default()).map_err(|error| error.message)
    }

    #[test]
    fn options_set_the_network_and_the_tolerance() {
        let v6 = settings(&[("ip_version", Some("ipv6")), ("tolerance_usecs", Some("10000"))])
            .expect("settings");
        assert!(v6.setup.local.is_ipv6() && v6.setup.mtu == MTU_V6);
        assert_eq!(v6.tolerance, Span::from_millis(10));
        let v4 =
            settings(&[("netmask_ip", Some("255.255.255.0")), ("remote_ip", Some("10.0.0.1/24"))]);
        assert_eq!(v4.expect("settings").setup.prefix_len, 24);
    }

    #[test]
    fn wrong_options_are_refused() {
        let refused = |name, value| settings(&[(name, value)]).expect_err(name);
        assert_eq!(refused("tolerance", Some("1")), "scripts have no option --tolerance");
        assert_eq!(
            refused("mtuu", Some("1")),
            "scripts have no option --mtuu; did you mean \"mtu\"?"
        );
        assert_eq!(refused("mtu", None), "--mtu takes a value: expected --mtu=VALUE");
        assert_eq!(refused("mtu", Some("-1")), "--mtu does not take \"-1\"");
        assert_eq!(refused("debug", Some("1")), "--debug takes no value");
        assert_eq!(
            refused("local_ip", Some("fd00::1")),
            "the addresses fd00::1 and 192.0.2.1 are not those of ipv4"
        );
        let mask = "--netmask_ip does not take 255.0.255.0: expected ones, then zeros";
        assert_eq!(refused("netmask_ip", Some("255.0.255.0")), mask);
    }
}

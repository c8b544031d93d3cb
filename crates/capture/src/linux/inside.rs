//! The process inside the namespace: it makes the namespaces and the device, hands the device to the
//! process outside, and starts the command under a guard.
//!
//! It is this program again, started under another name, because only a process with one thread can
//! enter a user namespace.

use super::{handover, mounts};
use crate::stack::Config;
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitCode};
use windlass_namespace::{
    Device, DeviceConfig, Guarded, Namespace, Signals, Streams, User, enter_new_network,
    enter_user_namespace, exit_code, guard_main, has_capabilities,
};

/// `argv[0]` of the process. It is not an argument because the arguments are the user's.
const NAME: &str = "windlass-capture-inside";
/// The device's name.
const DEVICE: &str = "windlass0";

/// Runs this process's part if it is a helper of a [`Capture`](super::Capture), and returns its exit
/// code. Call it first in `main`.
pub fn child_main() -> Option<ExitCode> {
    guard_main().or_else(main)
}

/// Starts the process. `socket` is the end that it sends the device to.
pub(super) fn start(
    socket: OwnedFd,
    tool: &str,
    mtu: u16,
    command: &[OsString],
) -> io::Result<Child> {
    rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::empty())?;
    Command::new("/proc/self/exe")
        .arg0(NAME)
        .arg(socket.as_raw_fd().to_string())
        .arg(tool)
        .arg(mtu.to_string())
        .args(command)
        .spawn()
}

fn main() -> Option<ExitCode> {
    let mut args = env::args_os();
    if args.next()? != NAME {
        return None;
    }
    let (socket, tool, mtu) = (args.next()?, args.next()?, args.next()?);
    let command: Vec<OsString> = args.collect();
    let tool = tool.to_str()?;
    Some(live(&socket, tool, &mtu, &command).unwrap_or_else(|error| {
        // The process outside has ended, or it ends as soon as this one has.
        eprintln!("error: {tool}: {error}");
        ExitCode::FAILURE
    }))
}

fn live(socket: &OsStr, tool: &str, mtu: &OsStr, command: &[OsString]) -> io::Result<ExitCode> {
    let outside = take_over(socket)?;
    let mtu = mtu.to_str().and_then(|mtu| mtu.parse().ok()).ok_or(ErrorKind::InvalidInput)?;
    match set_up(mtu) {
        Ok((device, user)) => {
            handover::send(&outside, device.as_fd())?;
            drop(device);
            attend(
                &outside,
                Guarded { tool, command, environment: &[], streams: Streams::All, user },
            )
        }
        Err(error) => {
            handover::send_error(&outside, &error)?;
            Ok(ExitCode::FAILURE)
        }
    }
}

/// The socket that the process outside passed by its number.
#[expect(unsafe_code, reason = "no safe way to own a descriptor that was inherited")]
fn take_over(socket: &OsStr) -> io::Result<UnixStream> {
    let number = socket.to_str().and_then(|socket| socket.parse().ok());
    let number = number.ok_or(ErrorKind::InvalidInput)?;
    // SAFETY: the parent left this descriptor open for this process, which has opened none itself
    // and uses the number nowhere else.
    let socket = unsafe { OwnedFd::from_raw_fd(number) };
    rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC)?;
    Ok(UnixStream::from(socket))
}

/// Makes the namespaces and the device. Returns the user as whom the command runs, if not the
/// present one.
fn set_up(mtu: u16) -> io::Result<(Device, Option<User>)> {
    let user = if has_capabilities() { None } else { Some(enter_user_namespace()?) };
    // A new user namespace would unset it (prctl(2)), so it comes after.
    set_pdeathsig(Signal::SIGKILL)?;
    enter_new_network()?;
    let has_ipv6 = enable_ipv6();
    // Lets ping(8) ask without privileges. Where /proc/sys is read-only, ping does not work.
    let _ = fs::write("/proc/sys/net/ipv4/ping_group_range", "0 0");
    let device = Device::create_with_offloads(&device(mtu, has_ipv6)?)?;
    mounts::redirect_names(Config::default().forwarder_v4.into())?;
    Ok((device, user))
}

/// Enables IPv6, which containers disable for new namespaces. Returns whether the kernel has it.
fn enable_ipv6() -> bool {
    const DISABLE: &str = "/proc/sys/net/ipv6/conf/default/disable_ipv6";
    let _ = fs::write(DISABLE, "0");
    fs::read_to_string(DISABLE).is_ok_and(|value| value.trim() == "0")
}

fn device(mtu: u16, has_ipv6: bool) -> io::Result<DeviceConfig> {
    let Config { forwarder_v4, forwarder_v6, .. } = Config::default();
    // The address before the forwarder's, in a network of four.
    let v4 = Ipv4Net::new(Ipv4Addr::from_bits(forwarder_v4.to_bits() - 1), 30);
    let v6 = Ipv6Net::new(Ipv6Addr::from_bits(forwarder_v6.to_bits() - 1), 126);
    let (v4, v6) = (v4.map_err(io::Error::other)?, v6.map_err(io::Error::other)?);
    let mut addresses: Vec<IpNet> = vec![v4.into()];
    let mut routes: Vec<IpNet> = vec![Ipv4Net::default().into()];
    if has_ipv6 {
        addresses.push(v6.into());
        routes.push(Ipv6Net::default().into());
    }
    Ok(DeviceConfig {
        name: DEVICE.to_owned(),
        namespace: Namespace::Current,
        addresses,
        routes,
        mtu: u32::from(mtu),
    })
}

/// Starts the command and waits for its end, or for that of the process outside.
fn attend(outside: &UnixStream, command: Guarded<'_>) -> io::Result<ExitCode> {
    let signals = Signals::block_with_children()?;
    let mut guard = command.spawn()?;
    loop {
        if let Some(status) = guard.try_wait()? {
            return Ok(ExitCode::from(exit_code(status)));
        }
        if !signals.wait_and_forward(guard.id(), outside)? {
            // The guard ends with this process.
            return Ok(ExitCode::FAILURE);
        }
    }
}

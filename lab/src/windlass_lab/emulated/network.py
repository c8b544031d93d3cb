"""A server, a router and a client in namespaces of an emulated machine, which is all theirs."""

import subprocess

SERVER, _ROUTER, CLIENT = "server", "router", "client"
ADDRESS = "10.55.0.1"
# (namespace, device, address), a pair of devices for each link.
_LINKS = (
    ((SERVER, "to-router", f"{ADDRESS}/24"), (_ROUTER, "to-server", "10.55.0.254/24")),
    ((_ROUTER, "to-client", "10.56.0.254/24"), (CLIENT, "to-router", "10.56.0.1/24")),
)


def lay_out(tcp_ecn: int = 2) -> None:
    """Makes the namespaces and their links; `tcp_ecn` is that of the server."""
    for name in (SERVER, _ROUTER, CLIENT):
        ip("netns", "add", name)
        ip("-n", name, "link", "set", "lo", "up")
    for (left, left_device, left_address), (right, right_device, right_address) in _LINKS:
        peer = ("peer", "name", right_device, "netns", right)
        ip("link", "add", left_device, "netns", left, "type", "veth", *peer)
        for name, device, address in (
            (left, left_device, left_address),
            (right, right_device, right_address),
        ):
            ip("-n", name, "address", "add", address, "dev", device)
            ip("-n", name, "link", "set", device, "up")
    ip("-n", SERVER, "route", "add", "default", "via", "10.55.0.254")
    ip("-n", CLIENT, "route", "add", "default", "via", "10.56.0.254")
    run(inside(_ROUTER, "sysctl", "-qw", "net.ipv4.ip_forward=1"))
    # No connection shall remember what the one before it met.
    settings = (f"net.ipv4.tcp_ecn={tcp_ecn}", "net.ipv4.tcp_no_metrics_save=1")
    run(inside(SERVER, "sysctl", "-qw", *settings))


def shape(*netem: str) -> None:
    """Gives the way from the server to the client this netem."""
    device = ("dev", "to-client", "root")
    run(inside(_ROUTER, "tc", "qdisc", "replace", *device, "netem", *netem))


def load_controller(name: str) -> None:
    """Loads the kernel's module of a controller, if it is one."""
    # Reno and CUBIC are part of most kernels.
    subprocess.run(["modprobe", f"tcp_{name}"], check=False, stderr=subprocess.DEVNULL)


def inside(namespace: str, *command: str) -> list[str]:
    """The command line that runs `command` in the namespace."""
    return ["ip", "netns", "exec", namespace, *command]


def ip(*arguments: str) -> None:
    """Runs `ip`; raises `CalledProcessError` where it fails."""
    run(["ip", *arguments])


def run(command: list[str]) -> None:
    """Runs a command; raises `CalledProcessError` where it fails."""
    subprocess.run(command, check=True)

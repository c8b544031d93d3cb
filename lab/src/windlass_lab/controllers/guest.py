"""Traces controllers inside an emulated machine, which is all theirs.

`python -m windlass_lab.controllers.guest PLAN`, where PLAN is a JSON object: windlass, out,
controllers, tcp_ecn, paths. Each run writes `PATH-CONTROLLER.json`, what the probe prints.
"""

import json
import subprocess
import sys
import time
from pathlib import Path as File

from windlass_lab.controllers.paths import Path
from windlass_lab.controllers.server import FIRST_PORT

_SERVER, _ROUTER, _CLIENT = "server", "router", "client"
_ADDRESS = "10.55.0.1"
# The name of the BPF program in `windlass cc`; the kernel's name has an underscore.
NEW_ECN = "new-ecn"
# (namespace, device, address), a pair of devices for each link.
_LINKS = (
    ((_SERVER, "to-router", f"{_ADDRESS}/24"), (_ROUTER, "to-server", "10.55.0.254/24")),
    ((_ROUTER, "to-client", "10.56.0.254/24"), (_CLIENT, "to-router", "10.56.0.1/24")),
)


def main(plan: dict) -> None:
    """Makes all runs of the plan."""
    _lay_out(plan["tcp_ecn"])
    for name in plan["controllers"]:
        if name == NEW_ECN:
            _run([plan["windlass"], "cc", "load", name])
        else:
            # Reno and CUBIC are part of most kernels.
            subprocess.run(["modprobe", f"tcp_{name}"], check=False, stderr=subprocess.DEVNULL)
    server = subprocess.Popen(
        _in(_SERVER, sys.executable, "-m", "windlass_lab.controllers.server", _ADDRESS)
        + [name.replace("-", "_") for name in plan["controllers"]],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout
    try:
        if server.stdout.readline() != "ready\n":
            sys.exit("the server did not start: does the kernel lack a controller?")
        for described in plan["paths"]:
            _trace(Path(**described), plan)
    finally:
        server.kill()
        server.wait()


def _lay_out(tcp_ecn: int) -> None:
    for name in (_SERVER, _ROUTER, _CLIENT):
        _ip("netns", "add", name)
        _ip("-n", name, "link", "set", "lo", "up")
    for (left, left_device, left_address), (right, right_device, right_address) in _LINKS:
        peer = ("peer", "name", right_device, "netns", right)
        _ip("link", "add", left_device, "netns", left, "type", "veth", *peer)
        for name, device, address in (
            (left, left_device, left_address),
            (right, right_device, right_address),
        ):
            _ip("-n", name, "address", "add", address, "dev", device)
            _ip("-n", name, "link", "set", device, "up")
    _ip("-n", _SERVER, "route", "add", "default", "via", "10.55.0.254")
    _ip("-n", _CLIENT, "route", "add", "default", "via", "10.56.0.254")
    _run(_in(_ROUTER, "sysctl", "-qw", "net.ipv4.ip_forward=1"))
    # No connection shall remember what the one before it met.
    settings = (f"net.ipv4.tcp_ecn={tcp_ecn}", "net.ipv4.tcp_no_metrics_save=1")
    _run(_in(_SERVER, "sysctl", "-qw", *settings))


def _trace(path: Path, plan: dict) -> None:
    shape = (f"{path.rate_mbit}mbit", f"{path.rtt_ms}ms", str(path.limit_packets))
    netem = ("netem", "rate", shape[0], "delay", shape[1], "limit", shape[2])
    _run(_in(_ROUTER, "tc", "qdisc", "replace", "dev", "to-client", "root", *netem))
    for index, name in enumerate(plan["controllers"]):
        url = f"http://{_ADDRESS}:{FIRST_PORT + index}/"
        command = _in(_CLIENT, plan["windlass"], "probe", "--cca", "--json", url)
        done = subprocess.run(command, capture_output=True, text=True)
        out = File(plan["out"]) / f"{path.name}-{name}.json"
        out.write_text(done.stdout)
        print(f"{path.name} {name}: status {done.returncode} {done.stderr.strip()}", flush=True)
        # The server's socket may still send.
        time.sleep(0.5)


def _in(namespace: str, *command: str) -> list[str]:
    return ["ip", "netns", "exec", namespace, *command]


def _ip(*arguments: str) -> None:
    _run(["ip", *arguments])


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True)


if __name__ == "__main__":
    main(json.loads(File(sys.argv[1]).read_text()))

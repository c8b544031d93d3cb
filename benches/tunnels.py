"""The tunnels of `tou_tunnels.py`: each carries TCP connections from one host to a port of another,
encrypted."""

import re
import secrets
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hosts import Testbed
from process import BenchError
from tou_programs import ROOT

WINDLASS = ROOT / "target/release/windlass"
TOOLS = ROOT / "benches/tou-peers/target/tunnels"
WIREGUARD = TOOLS / "wireguard"
DUMBPIPE = TOOLS / "bin/dumbpipe"
SSHD = "/usr/sbin/sshd"

SERVICE_PORT = 5201
"""Of the server behind the tunnel."""
ENTRY_PORT = 6201
SSH_PORT = 2022
NEAR, FAR = "10.7.0.1", "10.7.0.2"
"""The hosts inside WireGuard."""
READY_S = 20.0
NULL = subprocess.DEVNULL


@dataclass(frozen=True)
class TwoHosts:
    """The two hosts, and the address of each on the path that is measured."""

    bed: Testbed
    near: str
    far: str


def wait_until(what: str, condition: Callable[[], bool]) -> None:
    """Waits for a tunnel to get ready."""
    deadline = time.monotonic() + READY_S
    while not condition():
        if time.monotonic() > deadline:
            raise BenchError(f"no {what} within {READY_S:g} s")
        time.sleep(0.05)


def listens(bed: Testbed, node: str, port: int) -> bool:
    """Whether a TCP socket listens at a port."""
    command = ["ip", "netns", "exec", bed.namespace(node), "ss", "-Hltn", f"sport = :{port}"]
    return bool(subprocess.run(command, capture_output=True, check=True).stdout)


def plain(hosts: TwoHosts) -> tuple[str, int]:
    """No tunnel: the kernel's TCP."""
    return hosts.far, SERVICE_PORT


def tou(hosts: TwoHosts) -> tuple[str, int]:
    """`windlass tou expose` and `forward`, with the rendezvous at the far host."""
    bed = hosts.bed
    keys = {end: _make_key(bed.scratch / f"{end}.key") for end in ("near", "far", "rendezvous")}
    via = f"{hosts.far}:3478"
    words = [str(WINDLASS), "tou"]
    own_key = ["--key", str(bed.scratch / "rendezvous.key")]
    serve = ["rendezvous", "--listen", via, "--no-relay", *own_key]
    bed.start("rendezvous", "far", [*words, *serve], stdout=NULL)
    wait_until("rendezvous", lambda: listens(bed, "far", 3478))
    far = ["--key", str(bed.scratch / "far.key"), "--via", via, "--allow", keys["near"]]
    service = f"bench=127.0.0.1:{SERVICE_PORT}"
    bed.start("expose", "far", [*words, "expose", service, *far], stdout=NULL, stderr=NULL)
    near = ["--key", str(bed.scratch / "near.key"), "--via", via]
    port = f"{ENTRY_PORT}=bench@{keys['far']}"
    bed.start("forward", "near", [*words, "forward", port, *near], stdout=NULL, stderr=NULL)
    wait_until("forward", lambda: listens(bed, "near", ENTRY_PORT))
    return "127.0.0.1", ENTRY_PORT


def _make_key(file: Path) -> str:
    command = [str(WINDLASS), "tou", "key", "--file", str(file)]
    shown = subprocess.run(command, capture_output=True, text=True, check=True)
    return shown.stdout.split()[0]


def ssh(hosts: TwoHosts) -> tuple[str, int]:
    """`ssh -L`, with AES-128-GCM, its fastest cipher on processors with AES instructions."""
    bed, folder = hosts.bed, hosts.bed.scratch
    for name in ("host", "user"):
        make = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(make, check=True)
    shutil.copy(folder / "user.pub", folder / "authorized")
    # sshd drops its privileges into this folder.
    Path("/run/sshd").mkdir(exist_ok=True)
    settings = [
        f"ListenAddress {hosts.far}:{SSH_PORT}",
        f"HostKey {folder}/host",
        f"AuthorizedKeysFile {folder}/authorized",
        "StrictModes no",
        "UsePAM no",
        "PermitRootLogin yes",
        "PidFile none",
        "MaxSessions 1000",
    ]
    (folder / "sshd_config").write_text("\n".join(settings) + "\n", encoding="ascii")
    bed.start("sshd", "far", [SSHD, "-D", "-f", str(folder / "sshd_config")])
    wait_until("sshd", lambda: listens(bed, "far", SSH_PORT))
    command = [
        "ssh",
        "-F",
        "none",
        "-N",
        "-T",
        "-c",
        "aes128-gcm@openssh.com",
        "-i",
        f"{folder}/user",
    ]
    command += ["-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null"]
    command += [
        "-L",
        f"{ENTRY_PORT}:127.0.0.1:{SERVICE_PORT}",
        "-p",
        str(SSH_PORT),
        f"root@{hosts.far}",
    ]
    bed.start("ssh", "near", command, stderr=NULL)
    wait_until("ssh", lambda: listens(bed, "near", ENTRY_PORT))
    return "127.0.0.1", ENTRY_PORT


def wireguard(hosts: TwoHosts) -> tuple[str, int]:
    """WireGuard in user space (wireguard-go), MTU 1420."""
    bed = hosts.bed
    name = {end: f"wg{secrets.token_hex(4)}" for end in ("near", "far")}
    private = {end: _run(["wg", "genkey"]) for end in name}
    public = {end: _run(["wg", "pubkey"], private[end]) for end in name}
    inside = {"near": NEAR, "far": FAR}
    outside = {"near": hosts.near, "far": hosts.far}
    for end, other in (("near", "far"), ("far", "near")):
        bed.start(f"wireguard-{end}", end, [str(WIREGUARD), "-f", name[end]], stderr=NULL)
        socket = Path(f"/var/run/wireguard/{name[end]}.sock")
        wait_until("wireguard-go", socket.exists)
        key = bed.scratch / f"{end}.wg"
        key.write_text(private[end], encoding="ascii")
        command = ["wg", "set", name[end], "listen-port", "51820", "private-key", str(key)]
        command += ["peer", public[other], "endpoint", f"{outside[other]}:51820"]
        _run([*command, "allowed-ips", f"{inside[other]}/32"])
        for words in (f"address add {inside[end]}/24 dev {name[end]}", f"link set {name[end]} up"):
            _run(["ip", "-n", bed.namespace(end), *words.split()])
    return FAR, SERVICE_PORT


def _run(command: list[str], given: str = "") -> str:
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BenchError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout.strip()


def dumbpipe(hosts: TwoHosts) -> tuple[str, int]:
    """`dumbpipe listen-tcp` and `connect-tcp`: QUIC by iroh, to the direct address."""
    bed = hosts.bed
    service = f"127.0.0.1:{SERVICE_PORT}"
    log = bed.scratch / "dumbpipe.out"
    command = [str(DUMBPIPE), "listen-tcp", "--host", service, "--ipv4-addr", f"{hosts.far}:7777"]
    with log.open("wb") as out:
        bed.start("dumbpipe-far", "far", command, stdout=out, stderr=subprocess.STDOUT)
    wait_until("ticket of dumbpipe", lambda: _ticket(log) is not None)
    ticket = _ticket(log) or ""
    entry = f"127.0.0.1:{ENTRY_PORT}"
    command = [str(DUMBPIPE), "connect-tcp", "--addr", entry, ticket]
    with (bed.scratch / "dumbpipe.near").open("wb") as out:
        bed.start("dumbpipe-near", "near", command, stdout=out, stderr=subprocess.STDOUT)
    wait_until("dumbpipe", lambda: listens(bed, "near", ENTRY_PORT))
    return "127.0.0.1", ENTRY_PORT


def _ticket(log: Path) -> str | None:
    found = re.search(r"\b(endpoint[a-z0-9]{40,}|node[a-z0-9]{40,})\b", log.read_text("utf-8"))
    return found[1] if found else None


@dataclass(frozen=True)
class Tunnel:
    """A way to carry TCP connections to the service, and what it needs."""

    name: str
    start: Callable[[TwoHosts], tuple[str, int]]
    """Starts it; returns the address and the port to connect to."""
    needs: tuple[str | Path, ...] = ()
    """Programs."""


TUNNELS = {
    one.name: one
    for one in (
        Tunnel("tou", tou, (WINDLASS,)),
        Tunnel("ssh", ssh, (SSHD, "ssh")),
        Tunnel("wireguard-go", wireguard, (WIREGUARD, "wg")),
        Tunnel("dumbpipe", dumbpipe, (DUMBPIPE,)),
        Tunnel("plain", plain),
    )
}

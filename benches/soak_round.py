"""A round of the soak: one connection, what befalls it, and the verdict."""

import hashlib
import json
import random
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from soak_bed import ADDRESSES, Bed
from soak_plan import ENDS, Death, Plan

# A lane waits so long for a round in peace, and then leaves it to go on beside the next.
PATIENCE_S = 60.0
# docs/reference/tou.md: 16 transmissions of the same data, two minutes apart at most, and the last
# one's round trip. A connection in use says so by then, or it hangs.
SILENCE_MAX_S = 16 * 120.0 + 30
TURN_S = 0.02
INTERRUPTED = 130
OTHER = dict(zip(ENDS, reversed(ENDS), strict=True))


@dataclass(frozen=True)
class Ended:
    """An end, when its process is no more."""

    status: int
    """Its exit status; below 0 the signal that killed it."""
    message: str
    """Its standard error, without the lines of --json."""
    given: bytes
    taken: bytes

    @property
    def killed(self) -> bool:
        """Killed by us: it could not say anything."""
        return self.status == -signal.SIGKILL


def judge(ends: dict[str, Ended]) -> tuple[str, list[str]]:
    """How a round ended, and what must not be."""
    faults = []
    for name, end in ends.items():
        peer = ends[OTHER[name]]
        if not peer.given.startswith(end.taken):
            faults.append(f"{name}: what came is not what was sent")
        if end.killed:
            continue
        if end.status == 0:
            faults += _faults_of_success(name, end, peer)
        elif end.status not in (1, INTERRUPTED):
            faults.append(f"{name}: exit status {end.status}: {end.message}")
        elif not end.message.startswith("error: "):
            faults.append(f"{name}: status {end.status} and no word why")
    return ("fault" if faults else _outcome(ends)), faults


def _faults_of_success(name: str, end: Ended, peer: Ended) -> list[str]:
    faults = []
    if _digest(end.taken) != _digest(peer.given):
        faults.append(f"{name}: status 0 with {len(end.taken)} of {len(peer.given)} bytes")
    if peer.status in (0, 1) and _digest(peer.taken) != _digest(end.given):
        faults.append(f"{name}: status 0, and the peer has {len(peer.taken)} of {len(end.given)}")
    return faults


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _outcome(ends: dict[str, Ended]) -> str:
    if all(end.status == 0 for end in ends.values()):
        return "intact"
    message = [end.message.lower() for end in ends.values() if end.status == 1]
    for word in ("reset", "timed out", "refused"):
        if any(word in line for line in message):
            return word
    # The other had all it was to have before; or this bench ended both.
    return "other" if message else "ended first"


class Round:
    """A connection under way."""

    def __init__(self, bed: Bed, plan: Plan, seed: str) -> None:
        self.plan = plan
        self.began = time.monotonic()
        self.died_at: float | None = None
        self._bed = bed
        # Of its own: drawing it changes nothing in the plan.
        self._rng = random.Random(seed)
        self.port = 10_000 + plan.number % 20_000
        self._standin: subprocess.Popen | None = None
        self._events = list(plan.blackouts)
        self._death = plan.death
        self._ends: dict[str, subprocess.Popen] = {}

    def _begin(self) -> None:
        for end in ENDS:
            self._file(end, "in").write_bytes(self._rng.randbytes(self.plan.sizes[end]))
        self._bed.plug(self.plan.path, self._rng.getrandbits(32))
        address = f"{ADDRESSES['listen']}:{self.port}"
        self._ends["listen"] = self._start("listen", address)
        self._wait_for(lambda: self._reported("listen", "tou.listening"), "listening")
        self._ends["connect"] = self._start("connect", address)

    def _start(self, end: str, address: str) -> subprocess.Popen:
        arguments = [end, address, "-4", "--json", *self.plan.options]
        return self._bed.start(end, arguments, self._name(end))

    def _name(self, end: str) -> str:
        return f"{self.plan.number}-{end}"

    def _file(self, end: str, kind: str) -> Path:
        return self._bed.folder / f"{self._name(end)}.{kind}"

    def _reported(self, end: str, kind: str) -> dict | None:
        """A line of --json."""
        for line in self._file(end, "err").read_text().splitlines():
            if line.startswith("{") and line.endswith("}"):
                message = json.loads(line)
                if message["kind"] == kind:
                    return message
        return None

    def _wait_for(self, condition: Callable[[], object], what: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            if time.monotonic() > deadline or self.over():
                raise TimeoutError(f"round {self.plan.number}: not {what} in {PATIENCE_S:.0f} s")
            time.sleep(TURN_S)

    def _progress(self) -> float:
        total = sum(self.plan.sizes.values())
        there = sum(self._file(end, "out").stat().st_size for end in ENDS)
        return there / total if total else 1.0

    def play(self) -> None:
        """Lets the plan happen, until both ends have ended or that is a matter of time."""
        self._begin()
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline and not self.over():
            progress = self._progress()
            if self._events and progress >= self._events[0].at:
                self._bed.black_out(self._events.pop(0), self._rng.getrandbits(32))
                deadline = time.monotonic() + PATIENCE_S
            if self._death and progress >= self._death.at and self._die(self._death):
                return
            time.sleep(TURN_S)

    def _die(self, death: Death) -> bool:
        """Ends the victim, once there is a connection."""
        connected = self._reported("listen", "tou.connected")
        victim = self._ends[death.victim]
        if not connected or victim.poll() is not None:
            return False
        self._death = None
        self.died_at = time.monotonic()
        victim.send_signal(signal.SIGKILL if death.how == "kill" else signal.SIGINT)
        victim.wait()
        if death.answered:
            port = self.port if death.victim == "listen" else int(connected["peer"].split(":")[-1])
            self._answer(death.victim, port)
        return True

    def _answer(self, victim: str, port: int) -> None:
        """A program that knows nothing of the connection takes the port of the one that did."""
        name = f"{self.plan.number}-standin"
        (self._bed.folder / f"{name}.in").write_bytes(b"")
        address = f"{ADDRESSES[victim]}:{port}"
        self._standin = self._bed.start(victim, ["listen", address, "-4"], name)

    def over(self) -> bool:
        """Both ends have ended."""
        return all(end.poll() is not None for end in self._ends.values())

    def hangs(self) -> bool:
        """It has said nothing for longer than is allowed."""
        return time.monotonic() > (self.died_at or self.began) + SILENCE_MAX_S

    def kill(self) -> list[str]:
        """Kills what runs; which of the ends did."""
        running = [name for name, end in self._ends.items() if end.poll() is None]
        for child in [*self._ends.values(), self._standin]:
            if child and child.poll() is None:
                child.kill()
                child.wait()
        return running

    def end(self) -> dict:
        """The verdict. The files go where there is nothing to look at."""
        seconds = time.monotonic() - self.began
        hung = self.kill()
        ends = {name: self._ended(name) for name in ENDS}
        outcome, faults = judge(ends)
        if hung:
            outcome, faults = "fault", [*faults, *(f"{name}: hangs" for name in hung)]
        if not faults:
            for path in self._bed.folder.glob(f"{self.plan.number}-*"):
                path.unlink()
        return {
            "disturbance": self.plan.disturbance() if self.died_at else self._peaceful(),
            "outcome": outcome,
            "faults": faults,
            "bytes": sum(len(end.taken) for end in ends.values()),
            "seconds": seconds,
            "survivor_s": time.monotonic() - self.died_at if self.died_at else None,
            "message": {name: end.message for name, end in ends.items() if end.message},
        }

    def _peaceful(self) -> str:
        """The outcome when the victim ended before its time, or never connected."""
        return "blackouts" if self.plan.blackouts else "the path alone"

    def _ended(self, name: str) -> Ended:
        lines = self._file(name, "err").read_text().splitlines()
        return Ended(
            status=self._ends[name].returncode,
            message="\n".join(line for line in lines if not line.startswith("{")),
            given=self._file(name, "in").read_bytes(),
            taken=self._file(name, "out").read_bytes(),
        )

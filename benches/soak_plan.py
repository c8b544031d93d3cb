"""The plan of a round of the soak: its path, sizes and disturbances, all drawn from the seed."""

import random
from dataclasses import dataclass, field

# Loss one way, and as many bytes each way at most as it lets through in a minute or so.
LOSSES = (
    (0.0, 0.0, 16 << 20),
    (0.001, 0.01, 4 << 20),
    (0.01, 0.05, 1 << 20),
    (0.05, 0.3, 96 << 10),
)
RATES = ("2M", "10M", "50M", None)
MTUS = (1500, 1500, 1400, 1280)
# ECN needs a queue that marks.
QUEUES = ("droptail:limit=100", "droptail:limit=20", "codel", "red:min=10,max=20")
CONTROLLERS = ("cubic", "newreno", "reno", "vegas", "new-ecn")
CUTS = ("pause", "unplug", "change")
BLACKOUT_MAX_S = 6.0
ENDS = ("connect", "listen")


@dataclass(frozen=True)
class Path:
    """Both directions of the link."""

    rate: str | None
    delay_ms: int
    jitter_ms: int
    loss: str
    duplicate: float
    corrupt: float
    mtu: int
    queue: str

    def arguments(self) -> list[str]:
        """Those of `windlass link`."""
        words = ["--delay", f"{self.delay_ms}ms", "--loss", self.loss, "--mtu", str(self.mtu)]
        words += ["--duplicate", f"{self.duplicate:.4f}", "--corrupt", f"{self.corrupt:.4f}"]
        words += ["--aqm", self.queue]
        if self.jitter_ms:
            words += ["--jitter", f"{self.jitter_ms}ms", "--reorder"]
        return words + (["--rate", self.rate] if self.rate else [])


@dataclass(frozen=True)
class Blackout:
    """At this share of the bytes the link stops for a while, or becomes another one."""

    at: float
    how: str
    seconds: float
    path: Path | None = None


@dataclass(frozen=True)
class Death:
    """At this share of the bytes an end is killed, or ends by SIGINT."""

    at: float
    victim: str
    how: str
    # Another program takes the victim's port, so that what comes for the dead is reset. Without
    # it the survivor meets silence.
    answered: bool


@dataclass(frozen=True)
class Plan:
    """A round."""

    number: int
    path: Path
    sizes: dict[str, int]
    options: list[str]
    blackouts: list[Blackout] = field(default_factory=list)
    death: Death | None = None

    def disturbance(self) -> str:
        """The name of the round's disturbance in the table."""
        if self.death:
            way = "" if self.death.answered else ", silence"
            return f"{self.death.how} {self.death.victim}{way}"
        return "blackouts" if self.blackouts else "the path alone"


def draw(seed: int, lane: int, number: int, silence: bool, scale: float) -> Plan:
    """The plan of a lane's round; `silence`: an end may die without a word, which takes long.
    `scale` makes the files smaller."""
    rng = random.Random(f"{seed}/{lane}/{number}")
    path, most = _path(rng)
    blackouts = [_blackout(rng) for _ in range(rng.choice((0, 0, 0, 1, 1, 2)))]
    death = _death(rng) if rng.random() < 0.4 else None
    options = ["--cc", rng.choice(CONTROLLERS)] + ["--ecn"] * rng.randrange(2)
    sizes = {end: _size(rng, most * scale) for end in ENDS}
    if death and not death.answered and not silence:
        death = Death(death.at, death.victim, death.how, True)
    blackouts.sort(key=lambda blackout: blackout.at)
    return Plan(number, path, sizes, options, blackouts, death)


def _path(rng: random.Random) -> tuple[Path, int]:
    low, high, most = rng.choice(LOSSES)
    share = rng.uniform(low, high)
    loss = f"{share:.4f}"
    if share and rng.random() < 0.3:
        # The same share in bursts of four packets.
        loss = f"gilbert-elliott:good_to_bad={share / (1 - share) / 4:.5f},bad_to_good=0.25"
    delay_ms = rng.choice((0, 5, 20, 80, 150))
    path = Path(
        rate=rng.choice(RATES),
        delay_ms=delay_ms,
        jitter_ms=rng.choice((0, delay_ms // 2)),
        loss=loss,
        duplicate=rng.choice((0, 0.001, 0.05)),
        corrupt=rng.choice((0, 0.001, 0.02)),
        mtu=rng.choice(MTUS),
        queue=rng.choice(QUEUES),
    )
    return path, most


def _blackout(rng: random.Random) -> Blackout:
    how = rng.choice(CUTS)
    path = _path(rng)[0] if how == "change" else None
    return Blackout(rng.random(), how, rng.uniform(0.1, BLACKOUT_MAX_S), path)


def _death(rng: random.Random) -> Death:
    how = rng.choice(("kill", "kill", "interrupt"))
    # The very end, too: half-closed, and the last acknowledgments under way.
    at = rng.choice((rng.random(), rng.random(), 1.0))
    return Death(at, rng.choice(ENDS), how, rng.random() < 0.75)


def _size(rng: random.Random, most: float) -> int:
    if rng.random() < 0.05:
        return 0
    return int(rng.uniform(0.2, 1) ** 2 * most) + rng.randrange(1, 3000)

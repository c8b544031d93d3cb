"""The cells of the paper's section 5.2 and who goes through them, as plain data."""

from collections.abc import Mapping
from dataclasses import dataclass

PAPER = "tou"
# Both PCs of the paper hung on 100 Mbit/s.
RATE = "100Mbit/s"
# The window that both receivers give, in bytes: about the 2,200 segments at which the paper's
# transfers stopped growing. The kernel counts its own structures in its buffer, in which so much is
# measured to fit; ToU counts payload.
WINDOW_BYTES = 2250 * 1448
KERNEL_BUFFER_BYTES = 5 << 20
# The bottleneck holds more than that, so that nothing is lost but what the list names.
QUEUE_PACKETS = 5000
RTTS_MS = (0, 100, 300)
# The loss at which a sender without SACK has tens of timeouts.
_MANY_TIMEOUTS = 0.01
# Megabytes and the probability of loss.
_LOADS = ((100.0, 0.0), (100.0, 0.0001), (30.0, 0.01))


@dataclass(frozen=True, slots=True)
class Cell:
    """A path and what is sent through it. The data's delay varies by `jitter_ms` to either side,
    with `reorder` so that packets overtake each other; `duplicate` is the probability that one
    arrives twice.
    """

    megabytes: float
    loss: float
    rtt_ms: int
    jitter_ms: int = 0
    reorder: bool = False
    duplicate: float = 0.0

    @property
    def name(self) -> str:
        """Its name in results."""
        more = f"-jitter{self.jitter_ms}" if self.jitter_ms else ""
        more += "-reorder" if self.reorder else ""
        more += f"-duplicate{self.duplicate * 100:g}" if self.duplicate else ""
        return f"loss{self.loss * 100:g}-rtt{self.rtt_ms}{more}"

    @property
    def label(self) -> str:
        """Its name in tables."""
        jitter = f" ± {self.jitter_ms}" if self.jitter_ms else ""
        more = ", reordered" if self.reorder else ""
        more += f", {self.duplicate * 100:g} % twice" if self.duplicate else ""
        loss = f"{self.megabytes:g} MB, loss {self.loss * 100:g} %"
        return f"{loss}, RTT {self.rtt_ms}{jitter} ms{more}"

    @property
    def sample_ms(self) -> int:
        """Time between two looks at a window."""
        return 10 if self.rtt_ms == 0 else 20


CELLS = tuple(Cell(size, loss, rtt) for size, loss in _LOADS for rtt in RTTS_MS)
# Settings of netem in the paper's Figure 15 and the text beside it, which no figure shows.
EMULATED = (
    Cell(30.0, 0.001, 100),
    Cell(30.0, 0.0, 100, jitter_ms=10),
    Cell(30.0, 0.0, 100, jitter_ms=10, reorder=True),
    Cell(30.0, 0.0, 100, duplicate=0.01),
)


@dataclass(frozen=True, slots=True)
class Contender:
    """A sender and its receiver. `profile` is ToU's; a kernel's is empty, `tuned` says whether it
    has the paper's settings, `paced` whether it spreads its window over the round trip, which
    neither does of itself. With `paper_rto` the retransmission timeout is that of the paper's
    footnotes.
    """

    name: str
    label: str
    controller: str
    profile: str = ""
    tuned: bool = False
    paced: bool | None = None
    paper_rto: bool = False

    @property
    def is_tou(self) -> bool:
        """Whether it is ToU."""
        return bool(self.profile)


KERNEL_RENO = Contender("kernel-reno", "kernel reno", "reno")
KERNEL_CUBIC = Contender("kernel-cubic", "kernel cubic", "cubic")
TUNED_RENO = Contender("tuned-reno", "kernel reno, Figure 12", "reno", tuned=True)
TUNED_CUBIC = Contender("tuned-cubic", "kernel cubic, Figure 12", "cubic", tuned=True)
PACED_CUBIC = Contender("paced-cubic", "kernel cubic, paced", "cubic", paced=True)
TOU_NEWRENO = Contender("tou-newreno", "ToU newreno", "newreno", "linux", paced=True)
TOU_CUBIC = Contender("tou-cubic", "ToU cubic", "cubic", "linux", paced=True)
UNPACED_TOU = Contender("tou-unpaced", "ToU cubic, not paced", "cubic", "linux", paced=False)
# The paper's TCP sends what its window allows at once.
PAPER_PROFILE = "rfc2581"
TOU_CLASSIC = Contender("tou-classic", "ToU reno, rfc2581", "reno", PAPER_PROFILE, paced=False)
# The same with the timeout of the paper's footnotes 1 and 2 as they are printed.
TOU_PAPER_RTO = Contender(
    "tou-paper-rto", "ToU reno, the paper's RTO", "reno", PAPER_PROFILE, paced=False, paper_rto=True
)
PAPER_RTO_RULE = "lee2009"
# The paper's timer looks for expired packets ten times a second (its section 4.2.3.2).
PAPER_MIN_RTO = "100ms"
# Figure 19: the receiver's window is the only one.
TOU_NONE = Contender("tou-none", "ToU without congestion control", "none", "linux", paced=True)
CONTENDERS = (
    KERNEL_RENO,
    TOU_NEWRENO,
    KERNEL_CUBIC,
    TOU_CUBIC,
    TUNED_RENO,
    TUNED_CUBIC,
    PACED_CUBIC,
    UNPACED_TOU,
    TOU_CLASSIC,
    TOU_PAPER_RTO,
    TOU_NONE,
)


@dataclass(frozen=True, slots=True)
class Test:
    """A contender in a cell."""

    # pytest takes it for a class of tests otherwise.
    __test__ = False

    cell: Cell
    contender: Contender

    @property
    def name(self) -> str:
        """Its name in results."""
        return f"{self.cell.name}-{self.contender.name}"

    @property
    def cost(self) -> float:
        """About how much of a core it takes: what is slow waits, and costs little."""
        cell = self.cell
        waits = self.contender in (TOU_CLASSIC, TOU_PAPER_RTO)
        if cell.loss > 0.001 and (cell.rtt_ms or waits):
            return 0.08
        if cell.rtt_ms == 0 or cell.loss == 0:
            return 1.0
        return 0.4 if cell.rtt_ms < 200 else 0.12


def contenders(cell: Cell) -> list[Contender]:
    """The transports that run in a cell: without congestion control only where nothing is lost, and
    with the paper's timeout only where timeouts are many.
    """
    if cell in EMULATED:
        return [KERNEL_RENO, TOU_NEWRENO, KERNEL_CUBIC, TOU_CUBIC, TUNED_RENO, TOU_CLASSIC]
    runs = {TOU_NONE: cell.loss == 0, TOU_PAPER_RTO: cell.loss >= _MANY_TIMEOUTS}
    return [each for each in CONTENDERS if runs.get(each, True)]


def all_tests() -> list[Test]:
    """Every contender in every cell, those that take longest first."""
    slowest = sorted((*CELLS, *EMULATED), key=lambda cell: (cell.loss, cell.rtt_ms), reverse=True)
    return [Test(cell, contender) for cell in slowest for contender in contenders(cell)]


# The settings of both kernels: today's defaults, but for the window, a send buffer that is no
# limit, and metrics of a transfer, which the next one does not get.
_SYSCTLS: Mapping[str, str | int] = {
    "net.ipv4.tcp_rmem": f"4096 131072 {KERNEL_BUFFER_BYTES}",
    "net.ipv4.tcp_wmem": "4096 16384 16777216",
    "net.ipv4.tcp_no_metrics_save": 1,
}
# The settings of the paper's Figure 12 that a namespace can have.
FIGURE_12: Mapping[str, str | int] = {
    "net.ipv4.tcp_reordering": 3,
    "net.ipv4.tcp_dsack": 0,
    "net.ipv4.tcp_sack": 0,
    "net.ipv4.tcp_fack": 0,
    "net.ipv4.tcp_timestamps": 0,
    "net.ipv4.tcp_window_scaling": 1,
    "net.ipv4.tcp_no_metrics_save": 1,
    "net.ipv4.tcp_slow_start_after_idle": 0,
    # The paper's maxima of 4 MiB would hold 1,800 segments.
    "net.ipv4.tcp_rmem": f"4096 72800 {KERNEL_BUFFER_BYTES}",
    "net.ipv4.tcp_wmem": "4096 72800 16777216",
    "net.ipv4.udp_rmem_min": 8192,
    "net.ipv4.udp_wmem_min": 8192,
}


def sysctls(contender: Contender) -> Mapping[str, str | int]:
    """Those of a contender's two hosts."""
    return {**_SYSCTLS, **FIGURE_12} if contender.tuned else _SYSCTLS

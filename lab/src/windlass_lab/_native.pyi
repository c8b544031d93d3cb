"""The native half of the package; `windlass_lab.runs` wraps it."""

from collections.abc import Callable

class Table:
    """One time series, as an Arrow stream of one batch (the PyCapsule interface)."""

    @property
    def name(self) -> str: ...
    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

def simulate(
    origin: str,
    text: str,
    overrides: list[str],
    seed: int | None,
    jitter: str | None,
    series: str,
    stop: Stop | None,
    progress: Callable[[float], object] | None = None,
) -> tuple[str, list[Table]]:
    """The summary as JSON, and the time series. `progress` is called about ten times a second with
    the fraction of the duration that is simulated, on this thread; what it raises ends the run.
    Raises `ValueError` with all problems of the scenario, one per line; `Stopped` once `stop` is
    set, or without it what handlers of signals raise.
    """

def check(origin: str, text: str, overrides: list[str], jitter: str | None) -> str:
    """The summary of a run that ends before it begins. Raises `ValueError` with all problems of the
    scenario.
    """

def outline(origin: str, text: str, overrides: list[str]) -> str:
    """The scenario as JSON, checked and with its shorthands resolved. Raises `ValueError` with all
    problems of the scenario.
    """

class Stop:
    """Ends the simulations that have it."""

    def __init__(self) -> None: ...
    def set(self) -> None: ...

class Stopped(Exception):  # noqa: N818
    """Another thread has stopped the simulation."""

class Environments:
    """Simulations of one scenario. `control` is what the flow `flow` has from outside: "window",
    "pacing_rate", or nothing ("own"). `signals` adds a controller's to observations. `step` is
    "rtt", a number of ACKs such as "8 acks", or a time such as "100ms".
    """

    def __init__(
        self,
        origin: str,
        text: str,
        overrides: list[str],
        flow: str,
        count: int,
        step: str,
        control: str,
        signals: bool,
    ) -> None:
        """Raises `ValueError` with all problems of the scenario, one per line."""

    def reset(self, member: int, seed: int) -> None:
        """Begins a member's run anew."""

    def state(self, member: int) -> tuple[int, list[float]] | None:
        """The seed of a member's run, and the windows or pacing rates of its steps; None without a
        run.
        """

    def restore(self, member: int, seed: int, controls: list[float]) -> None:
        """Runs a member again up to the step of a `state`."""

    def controls(self) -> list[float]:
        """The window of each member in segments, or its pacing rate in segments per second."""

    def step(self, members: list[int], controls: list[float]) -> tuple[bytes, bytes]:
        """Sets the windows or pacing rates of some members, and runs each for a step. The
        observations one after the other as 64-bit floats, and a byte for each member: 0 if it goes
        on, 1 if its time is over, 2 if its flows are done before.
        """

    def finish(self, member: int) -> str:
        """The summary of a member's run so far as JSON, which ends it."""

class Params:
    @property
    def mss(self) -> int: ...
    @property
    def initial_window(self) -> int: ...
    @property
    def initial_ssthresh(self) -> float: ...
    @property
    def least_window(self) -> int: ...
    @property
    def abe(self) -> bool: ...

class Ack:
    @property
    def now(self) -> float: ...
    @property
    def bytes_acked(self) -> int: ...
    @property
    def credit(self) -> int: ...
    @property
    def rtt(self) -> float | None: ...
    @property
    def smoothed_rtt(self) -> float: ...
    @property
    def min_rtt(self) -> float | None: ...
    @property
    def in_flight(self) -> int: ...
    @property
    def acked_total(self) -> int: ...
    @property
    def sent_total(self) -> int: ...

class Congestion:
    @property
    def now(self) -> float: ...
    @property
    def cause(self) -> str: ...
    @property
    def window(self) -> float: ...
    @property
    def hold_ssthresh(self) -> bool: ...
    @property
    def smoothed_rtt(self) -> float: ...

def judge(controller: type, name: str, concerns: str, suites: list[str]) -> str:
    """The verdict of each case as JSON. Raises `ValueError` for an unknown suite, and what the
    controller raises.
    """

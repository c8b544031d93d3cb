"""New-ECN in the Linux kernel, held against the simulator's TCP of the same profile."""

from windlass_lab.core.experiments.model import (
    Ascending,
    AtLeast,
    BarPlot,
    Case,
    Check,
    Experiment,
    Flows,
    KernelCase,
    Near,
    SeriesPlot,
    Shown,
)
from windlass_lab.core.verdicts.verdict import Tolerance
from windlass_lab.papers.new_ecn import criteria
from windlass_lab.papers.new_ecn.plan import (
    CWND_IN_TIME,
    FAIRNESS,
    QUEUE,
    SHARE,
    SLOPE_IN_TIME,
    SRTT_IN_TIME,
    STEADY_FAIRNESS,
    STEADY_RATE,
    STEADY_SHARE,
    STEADY_TOTAL,
    WITHOUT_ECN,
)

_CHAPTER = "On a real kernel"
_SHORT_S = 30
_EACH_RATE = Tolerance(relative=0.15)
# 40 to 60 % of the link.
_HALF = Tolerance(absolute=0.10)
_CWND_AXIS = "cwnd (packets)"


def on_a_kernel() -> list[Experiment]:
    """The experiments that need root, and Linux with New-ECN loaded."""
    return [_short(), _whole(), _other_paths()]


def _pair(name: str, what: str, time_s: int | None = None) -> tuple[Case, KernelCase]:
    """A case of the simulator and the same on the kernel; shorter, and run once, by `time_s`."""
    short = f"-{time_s}s" if time_s else ""
    simulated = Case(
        f"{name}@simulator{short}",
        f"{what}, simulator",
        f"kernel/{name}",
        {"duration": f"{time_s}s"} if time_s else {},
    )
    real = KernelCase(
        f"{name}@kernel{short}",
        f"{what}, kernel",
        name,
        simulated.name,
        float(time_s) if time_s else None,
        1 if time_s else None,
    )
    return simulated, real


def _columns(*pairs: tuple[Case, KernelCase]) -> tuple[list[Case], list[KernelCase]]:
    return [simulated for simulated, _ in pairs], [real for _, real in pairs]


def _short() -> Experiment:
    simulated, real = _columns(
        _pair("four_rtts_newecn", "New-ECN", _SHORT_S),
        _pair("four_rtts_reno", "Reno with ECN", _SHORT_S),
    )
    new, reno = (case.name for case in real)
    near = Tolerance(absolute=0.06)
    return Experiment(
        id="kernel-short",
        chapter=_CHAPTER,
        section="4.2.1 on Linux, in short",
        title="The kernel's New-ECN against the kernel's Reno",
        shows="Four flows with RTTs of 190, 70, 30 and 4 ms share 10 Mbit/s: real packets of this "
        "machine's kernel on an emulated path, beside the simulator. One run of half a minute.",
        quick=True,
        seconds=40,
        first_result=criteria.BEGINNING,
        cases=simulated,
        kernels=real,
        checks=[
            *(
                Near(
                    name,
                    STEADY_FAIRNESS,
                    near,
                    headline=True,
                    criterion=criteria.KERNEL_SHORT,
                )
                for name in (new, reno)
            ),
            Ascending([reno, new], STEADY_FAIRNESS, criterion=criteria.KERNEL_ORDER),
            *_for_information((new, reno)),
        ],
        plots=[
            _windows("kernel-short-cwnd", (real[0], simulated[0], real[1], simulated[1])),
            _rates("kernel-short-rates", (new, reno)),
        ],
        kind="kernel",
        needs_root=True,
    )


def _whole() -> Experiment:
    simulated, real = _columns(
        _pair("four_rtts_newecn", "New-ECN"),
        _pair("four_rtts_reno", "Reno with ECN"),
        _pair("mix_3new_3reno", "3 New-ECN, 3 Reno"),
        _pair("mix_3new_3ecn", "3 New-ECN, 3 Reno with ECN"),
    )
    new, reno, *mixes = (case.name for case in real)
    both = [case.name for pair in zip(real, simulated, strict=True) for case in pair]
    return Experiment(
        id="kernel",
        chapter=_CHAPTER,
        section="4.2.1, 4.3.2 and 4.3.3 on Linux",
        title="The kernel against the simulator, on the same path",
        shows="The flows of setup 1, and three New-ECN flows against three of Reno without and "
        "with ECN. On the kernel each is run five times for a minute, several at once, and every "
        "figure is the median; the simulator has the profile linux on the same path. RED marks "
        "above its upper threshold, as Linux's does, and receivers echo until CWR.",
        quick=False,
        seconds=690,
        first_result=criteria.BEGINNING,
        cases=simulated,
        kernels=real,
        checks=[
            *(
                Near(
                    name,
                    STEADY_FAIRNESS,
                    Tolerance(absolute=apart),
                    headline=True,
                    criterion=criteria.KERNEL_FAIRNESS,
                )
                for name, apart in ((new, 0.03), (reno, 0.05))
            ),
            AtLeast(new, STEADY_FAIRNESS, 0.90, criterion=criteria.KERNEL_LEAST),
            Ascending([reno, new], STEADY_FAIRNESS, criterion=criteria.KERNEL_ORDER),
            *(
                Near(name, STEADY_RATE, _EACH_RATE, Flows.EACH, criterion=criteria.KERNEL_RATES)
                for name in (new, reno)
            ),
            *(
                Near(
                    name,
                    STEADY_SHARE,
                    _HALF,
                    target=0.5,
                    headline=True,
                    criterion=criteria.KERNEL_HALF,
                )
                for name in mixes
            ),
            *(Shown(name, SHARE) for name in mixes),
            *(Shown(name, STEADY_RATE, Flows.EACH) for name in mixes),
            *_for_information((new, reno, *mixes)),
        ],
        plots=[
            _windows("kernel-cwnd", (real[0], simulated[0], real[1], simulated[1])),
            _rates("kernel-rates", (new, reno, *mixes)),
            SeriesPlot(
                id="kernel-acks",
                figure="",
                title="Acknowledged packets over time: equal slopes are equal rates",
                cases=both[4:],
                column="acked_packets",
                axis="packets acknowledged",
            ),
        ],
        kind="kernel",
        needs_root=True,
    )


def _other_paths() -> Experiment:
    simulated, real = _columns(
        _pair("slow_newecn", "Setup 2"),
        _pair("sixteen_newecn", "16 flows"),
        _pair("single_newecn", "A single flow"),
    )
    slow, sixteen, single = (case.name for case in real)
    return Experiment(
        id="kernel-others",
        chapter=_CHAPTER,
        section="4.2.1, 4.2.3 and 4.3.1 on Linux",
        title="New-ECN in the kernel on the paper's other paths",
        shows="Setup 2 (2 Mbit/s, p_max 0.2), the sixteen flows, and a flow alone on 5 Mbit/s, on "
        "the kernel beside the simulator's profile linux. Each is run five times, and every figure "
        "is the median.",
        quick=False,
        seconds=450,
        first_result=criteria.BEGINNING,
        cases=simulated,
        kernels=real,
        checks=[
            *(
                Near(
                    name,
                    STEADY_FAIRNESS,
                    Tolerance(absolute=0.05),
                    headline=True,
                    criterion=criteria.KERNEL_OTHERS,
                )
                for name in (slow, sixteen)
            ),
            *(
                Near(name, STEADY_TOTAL, Tolerance(relative=0.05), criterion=criteria.KERNEL_OTHERS)
                for name in (slow, sixteen)
            ),
            Near(
                single,
                STEADY_RATE,
                Tolerance(relative=0.05),
                Flows.EACH,
                headline=True,
                criterion=criteria.KERNEL_OTHERS,
            ),
            *(Shown(name, STEADY_RATE, Flows.EACH) for name in (slow, sixteen)),
            *_for_information((slow, sixteen, single)),
        ],
        plots=[
            _windows("kernel-others-cwnd", (real[0], simulated[0], real[2], simulated[2])),
            _rates("kernel-others-rates", (slow, sixteen)),
        ],
        kind="kernel",
        needs_root=True,
    )


def _windows(id_: str, cases: tuple[Case | KernelCase, ...]) -> SeriesPlot:
    return SeriesPlot(
        id=id_,
        figure="",
        title="The windows, kernel and simulator side by side",
        cases=[case.name for case in cases],
        column="cwnd_packets",
        axis=_CWND_AXIS,
        zoom_from_s=20,
        zoom_s=30,
    )


def _rates(id_: str, names: tuple[str, ...]) -> BarPlot:
    return BarPlot(id_, "Rate of each flow from 10 s on", names, STEADY_RATE, Flows.EACH)


def _for_information(names: tuple[str, ...]) -> list[Check]:
    whole = [Shown(name, quantity) for name in names for quantity in (FAIRNESS, QUEUE, WITHOUT_ECN)]
    each = [
        Shown(name, quantity, Flows.EACH)
        for name in names
        for quantity in (CWND_IN_TIME, SRTT_IN_TIME)
    ]
    # Reno has none.
    slopes = [Shown(name, SLOPE_IN_TIME, Flows.EACH) for name in names if "newecn" in name]
    return [*whole, *each, *slopes]

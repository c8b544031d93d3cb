"""New-ECN, and New-ECN over ToU, in a line each."""

from collections.abc import Mapping

from windlass_lab.core.report.measured import figures

CLAIM = "four flows with RTTs of 4 to 190 ms have a fairness index of 0.99; with ECN Reno 0.48"
# Cases with New-ECN and with Reno, where they ran, and the key of their fairness index. The first
# that a result has of each place is taken.
_PAIRS = (
    ("simulated", "s1_10M_p0.1_newecn", "s1_10M_p0.1_ecn", "fairness_index.whole_run"),
    ("kernel", "four_rtts_newecn@kernel", "four_rtts_reno@kernel", "fairness_index.steady"),
    ("kernel", "four_rtts_newecn@kernel-30s", "four_rtts_reno@kernel-30s", "fairness_index.steady"),
)
_OVER_TOU = ("four_rtts_newecn@tou", "four_rtts_newecn@tou-15s")


def finding(results: Mapping) -> str:
    """The fairness of New-ECN and of Reno, simulated and on this kernel."""
    found = figures(results)
    by_place: dict[str, str] = {}
    for place, new, reno, key in _PAIRS:
        if (new, key) in found and (reno, key) in found:
            pair = f"{found[new, key]:.3f}, with ECN Reno {found[reno, key]:.3f}"
            by_place.setdefault(place, pair)
    parts = [by_place.get("simulated", "")]
    if of_kernel := by_place.get("kernel"):
        parts.append(f"on this kernel {of_kernel}")
    return "; ".join(part for part in parts if part)


def finding_over_tou(results: Mapping) -> str:
    """The fairness of New-ECN over ToU, beside the simulator's."""
    for document in results["experiments"]:
        for entry in document["comparisons"]:
            if entry["headline"] and entry["case"] in _OVER_TOU and entry["reference"]:
                ours, simulated = (entry[which]["mean"] for which in ("measured", "reference"))
                return f"the same four flows have {ours:.3f} over ToU; simulated {simulated:.3f}"
    return ""

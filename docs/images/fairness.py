#!/usr/bin/env python3
"""Draw docs/images/fairness.svg, the plot of README.md, from the output of two simulator runs.

From the root of the repository, with `windlass` on the PATH:

    docs/images/fairness.py > docs/images/fairness.svg
"""

import json
import subprocess

SCENARIO = "experiments/new-ecn/s1_10M_p0.1_{}.toml"
CASES = (("newecn", "New-ECN", "#2a6fb0"), ("ecn", "Reno with ECN", "#c9803a"))
RTTS_MS = (4, 30, 70, 190)
LEFT, RIGHT, TOP, BOTTOM = 70, 620, 50, 270
RATE_MAX, RATE_STEP = 2000, 500


def rates(case: str) -> tuple[list[float], float]:
    """Each flow's mean rate in packets/s, shortest RTT first, and the fairness index."""
    command = ["windlass", "sim", "run", SCENARIO.format(case), "--json"]
    command += ["--replicates", "20", "--jitter", "100ms"]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    summary = json.loads(output)
    by_rtt = sorted(summary["flows"], key=lambda flow: flow["rtt_min_ms"])
    fairness = summary["fairness_index"]["steady"]["mean"]
    return [flow["packets_per_s"]["steady"]["mean"] for flow in by_rtt], fairness


def height(rate: float) -> float:
    """Where a rate stands, in units of the picture."""
    return BOTTOM - (BOTTOM - TOP) * rate / RATE_MAX


def main() -> None:
    """Print the picture."""
    print(
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 320" font-family="sans-serif" '
        'font-size="13" role="img" aria-label="Rates of four flows under New-ECN and Reno">'
    )
    print("<!-- made by docs/images/fairness.py -->")
    print('<rect width="640" height="320" fill="#fff"/>')
    for rate in range(0, RATE_MAX + 1, RATE_STEP):
        y = height(rate)
        print(f'<path d="M{LEFT} {y:.0f} H{RIGHT}" stroke="#ddd"/>')
        print(f'<text x="{LEFT - 8}" y="{y + 4:.0f}" text-anchor="end">{rate}</text>')
    print('<text x="12" y="20">packets/s through one 10 Mbit/s bottleneck</text>')
    group = (RIGHT - LEFT) / len(RTTS_MS)
    for number, rtt in enumerate(RTTS_MS):
        x = LEFT + group * (number + 0.5)
        print(f'<text x="{x:.0f}" y="{BOTTOM + 20}" text-anchor="middle">RTT {rtt} ms</text>')
    for number, (case, label, colour) in enumerate(CASES):
        flows, fairness = rates(case)
        for place, rate in enumerate(flows):
            x = LEFT + group * (place + 0.5) + 46 * (number - 1) + 2
            y = height(rate)
            print(
                f'<rect x="{x:.0f}" y="{y:.0f}" width="42" height="{BOTTOM - y:.0f}" '
                f'fill="{colour}"/>'
            )
            print(f'<text x="{x + 21:.0f}" y="{y - 5:.0f}" text-anchor="middle">{rate:.0f}</text>')
        x = LEFT + 270 * number
        print(f'<rect x="{x}" y="300" width="12" height="12" fill="{colour}"/>')
        print(f'<text x="{x + 18}" y="311">{label}, fairness index {fairness:.2f}</text>')
    print("</svg>")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""A stand-in for the binary in the lab's tests: no simulator, only its command line and formats.

It gives back the reference figures, so that every verdict passes, or does what FAKE_WINDLASS says:
`unfair` (wrong figures), `fail`, `garbage` (no JSON), `hang`.
"""

import argparse
import json
import math
import os
import sys
import time
from pathlib import Path

DATA = Path(__file__).resolve().parents[1] / "src" / "windlass_lab" / "data"
MODE = os.environ.get("FAKE_WINDLASS", "ok")


# Scenarios on the kernel's path have no reference of their own.
STANDS_FOR = {
    "four_rtts_newecn": "s1_10M_p0.1_newecn",
    "four_rtts_reno": "s1_10M_p0.1_ecn",
    "slow_newecn": "s2_2M_p0.2_newecn",
    "sixteen_newecn": "many16_newecn",
    "single_newecn": "single_5M_newecn",
    "gateways": "s1_10M_p0.1_newecn",
    "load": "many16_newecn",
    "four_flows": "s1_10M_p0.1_newecn",
    "fixed_probability": "single_5M_newecn",
}


def figures(name):
    name = STANDS_FOR.get(name, name)
    return json.loads((DATA / "new-ecn-reference.json").read_text())["cases"][name]["jitter"]


def spoilt(summary):
    if MODE == "unfair":
        summary["fairness_index"] = {"whole_run": 0.3, "steady": 0.3}
    return summary


def named(summary):
    # Slowest path first, as in the paper's numbering.
    flows = sorted(summary["flows"], key=lambda flow: -flow["rtt_min_ms"])
    for number, flow in enumerate(flows, start=1):
        flow["name"] = f"tcp{number}"
    return spoilt(summary | {"flows": flows})


def single(node):
    """Means without deviations, as a single run has them."""
    if isinstance(node, dict):
        return node["mean"] if "mean" in node else {k: single(v) for k, v in node.items()}
    return [single(item) for item in node] if isinstance(node, list) else node


# Fairness where it is not that of the scenario as it stands: window limits, p_max, crowds.
LIMITED = {"16": 0.476, "32": 0.756, "64": 0.918, "100": 0.98}
MARKING = {0.05: 0.7, 0.1: 0.816, 0.2: 0.986, 0.3: 0.9, 1.0: 0.78}


def varied(name, summary, replaced):
    steady = summary["fairness_index"]
    limit = str(replaced.get("defaults.window_limit", "")).partition(" ")[0]
    steady["steady"] = LIMITED.get(limit, steady["steady"])
    if name == "s2_2M_p0.1_newecn":
        # Much like ECN Reno, as the paper says.
        steady["steady"] = 0.8
    p_max = replaced.get("queues.marking.p_max")
    if p_max is not None and name.startswith("s2"):
        steady["steady"] = MARKING.get(p_max, 0.8)
    if p_max == 1.0 and name.startswith("s1"):
        steady["steady"] = 0.97
    if name == "gateways":
        summary["name"] = name
        controller = str(replaced.get("defaults.controller"))
        kind = (controller, replaced.get("defaults.ecn", True))
        steady["steady"] = {("reno", True): 0.85, ("reno", False): 0.88}.get(kind, 0.91)
        if "constant-increase" in controller:
            steady["steady"] = 0.9
    if name == "load":
        low = replaced.get("queues.marking.p_max") == 1 / 64
        summary |= {"marks": 0, "bottleneck_packets": 1000, "drops": 50 if low else 20}
        summary["mean_queue_packets"] = {"steady": 300.0}
        summary["total_packets_per_s"]["steady"] += "queues.marking.kind" in replaced
    if name == "four_flows":
        summary["mean_queue_packets"] = {"steady": 15.0}
    if name == "fixed_probability":
        delay_ms = float(replaced["dumbbell.access.0.delay"].removesuffix("ms"))
        alone(summary, 2 * (delay_ms + 1))
    summary["steady_from_s"] = 10.0
    # Of the bottleneck, which stands first.
    summary["queues"] = [{"mean_average_packets": {"steady": 19.0, "whole_run": 19.0}}]
    calm = replaced.get("queues.marking.gentle", True)
    summary["total_packets_per_s"]["steady"] -= 0 if calm else 50
    for flow in summary["flows"]:
        flow["timeouts"] = 3 if calm else 100 if "newecn" in name else 50
    return spoilt(summary)


def alone(summary, rtt_ms):
    flow = summary["flows"][0]
    flow["rtt_min_ms"] = rtt_ms
    flow["cwnd_packets"] = {"time_mean_steady": 20.0}


def cycle_model(options):
    """Behind a link the figures of setup 1, else those of a flow alone."""
    if options.link:
        return named(single(figures("s1_10M_p0.1_newecn"))) | {"growth_per_s": -1.0}
    summary = named(single(figures("single_5M_newecn")))
    alone(summary, float(options.rtt.removesuffix("ms")))
    return summary


def transfers(request):
    """A run of the ECN proxy's tests: without ECN twice as long as with."""
    keys = request["set"]
    seconds = 100.0 if keys["defaults.ecn"] or keys["middleboxes"] else 200.0
    done = {"completed": keys["flows.0.app"].get("count", 1), "completion_s": [seconds]}
    flows = [{"transfers": done} for _ in range(keys["flows.0.count"])]
    return {"duration_s": seconds + request["seed"] / 1000, "flows": flows}


def one_run(request):
    name = Path(request["file"]).stem
    if name in ("download", "upload", "aside"):
        return transfers(request)
    return varied(name, named(single(figures(name))), request["set"])


def write_series(case, out):
    summary = named(single(figures(case)))
    summary["queues"] = [{"link": "r1-d", "direction": "forward"}]
    series = json.loads((DATA / "new-ecn-reference-series.json").read_text())["cases"][
        STANDS_FOR.get(case, case)
    ]
    out.mkdir()
    (out / "summary.json").write_text(json.dumps(summary))
    queue = ["time_s,queue_packets,average_queue", *(f"{t},{t % 20},{t % 20}" for t in range(60))]
    (out / "queue-r1-d-forward.csv").write_text("\n".join(queue) + "\n")
    order = sorted(range(len(summary["flows"])), key=lambda i: -series["rtt_min_ms"][i])
    for flow, column in zip(summary["flows"], order, strict=True):
        cwnd = flow.get("cwnd_packets", {}).get("time_mean", 20.0)
        slope = flow.get("slope", {}).get("time_mean", 1.0)
        lines = ["time_s,cwnd_packets,ssthresh_packets,srtt_ms,slope,acked_packets"]
        for row in series["rows"]:
            for tenth in range(10):
                t = row[0] + tenth * 0.05
                # ECN Reno gives up half of its window at a mark, New-ECN a tenth.
                swing = 0.3 if case == "single_5M_ecn" else 0.1
                wave = 1 + swing * math.sin(3 * t + column)
                grown = 1 - math.exp(-t / 5)
                lines.append(
                    f"{t:.3f},{cwnd * wave:.3f},{cwnd:.3f},,{slope * grown * wave:.4f},"
                    f"{row[1 + column]}"
                )
        (out / f"flow-{flow['name']}.csv").write_text("\n".join(lines) + "\n")


def simple_model(options):
    variant = "simple_model_" + options.variant
    model = figures(variant if options.steps == "3000" else f"{variant}_{options.steps}")
    for name, flow in zip("XY", model["flows"], strict=True):
        flow["name"] = name
    steps = range(int(options.steps))
    windows = [[10 + 5 * math.sin(step / 40 + turn) for step in steps] for turn in (0, 1)]
    return model | {"series": {"cwnd_packets": windows, "step_s": 0.01, "seed": 1}}


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--version", action="version", version="windlass 0.0.0-fake")
    sim = parser.add_subparsers(required=True).add_parser("sim").add_subparsers(dest="verb")
    run = sim.add_parser("run")
    run.add_argument("file", type=Path)
    run.add_argument("--json", action="store_true")
    run.add_argument("--flows-only", action="store_true")
    run.add_argument("--out", type=Path)
    run.add_argument("--set", action="append")
    run.add_argument("--seed")
    batch = sim.add_parser("batch")
    batch.add_argument("file")
    batch.add_argument("--jobs")
    model = sim.add_parser("simple-model")
    model.add_argument("--json", action="store_true")
    model.add_argument("--series", action="store_true")
    for option in ("--variant", "--steps", "--seeds", "--seed"):
        model.add_argument(option)
    cycle = sim.add_parser("cycle-model")
    for flag in ("--json", "--gentle"):
        cycle.add_argument(flag, action="store_true")
    for option in ("--rtt", "--link", "--probability", "--p-max", "--window-limit", "--seed"):
        cycle.add_argument(option)
    return parser.parse_args()


def misbehave():
    if MODE == "fail":
        sys.exit("error: scenario.toml:3: unknown key `rat`")
    if MODE == "garbage":
        print("not JSON")
        sys.exit(0)
    if MODE == "hang":
        Path(os.environ["FAKE_WINDLASS_STARTED"]).write_text(str(os.getpid()))
        time.sleep(600)


def main():
    options = parse()
    misbehave()
    if options.verb == "simple-model":
        print(json.dumps(simple_model(options)))
    elif options.verb == "cycle-model":
        print(json.dumps(cycle_model(options)))
    elif options.verb == "run":
        write_series(options.file.stem, options.out)
    else:
        for line in sys.stdin:
            envelope = {} if MODE == "old" else {"schema": 1, "kind": "sim.run"}
            print(json.dumps(envelope | one_run(json.loads(line))))


if __name__ == "__main__":
    main()

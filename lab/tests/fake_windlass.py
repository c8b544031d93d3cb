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


def figures(name):
    return json.loads((DATA / "new-ecn-reference.json").read_text())["cases"][name]["jitter"]


def spoilt(summary):
    if MODE == "unfair":
        summary["fairness_index"] = {
            key: {"mean": 0.3, "sd": 0.01} for key in ("whole_run", "steady")
        }
    return summary


def named(summary):
    # Slowest path first, as in the paper's numbering.
    flows = sorted(summary["flows"], key=lambda flow: -flow["rtt_min_ms"])
    for number, flow in enumerate(flows, start=1):
        flow["name"] = f"tcp{number}"
    return spoilt(summary | {"flows": flows})


def write_series(case, out):
    summary = named(figures(case))
    series = json.loads((DATA / "new-ecn-reference-series.json").read_text())["cases"][case]
    out.mkdir()
    (out / "summary.json").write_text(json.dumps(summary))
    order = sorted(range(len(summary["flows"])), key=lambda i: -series["rtt_min_ms"][i])
    for flow, column in zip(summary["flows"], order, strict=True):
        cwnd = flow.get("cwnd_packets", {}).get("time_mean", {"mean": 20.0})["mean"]
        slope = flow.get("slope", {}).get("time_mean", {"mean": 1.0})["mean"]
        lines = ["time_s,cwnd_packets,ssthresh_packets,srtt_ms,slope,acked_packets"]
        for row in series["rows"]:
            for tenth in range(10):
                t = row[0] + tenth * 0.05
                wave = 1 + 0.1 * math.sin(3 * t + column)
                grown = 1 - math.exp(-t / 5)
                lines.append(
                    f"{t:.3f},{cwnd * wave:.3f},{cwnd:.3f},,{slope * grown * wave:.4f},"
                    f"{row[1 + column]}"
                )
        (out / f"flow-{flow['name']}.csv").write_text("\n".join(lines) + "\n")


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--version", action="version", version="windlass 0.0.0-fake")
    sim = parser.add_subparsers(required=True).add_parser("sim").add_subparsers(dest="verb")
    run = sim.add_parser("run")
    run.add_argument("file", type=Path)
    run.add_argument("--json", action="store_true")
    run.add_argument("--out", type=Path)
    for option in ("--replicates", "--jobs", "--jitter", "--seed"):
        run.add_argument(option)
    model = sim.add_parser("simple-model")
    model.add_argument("--json", action="store_true")
    for option in ("--variant", "--steps", "--seeds", "--seed"):
        model.add_argument(option)
    return parser.parse_args()


def misbehave():
    if MODE == "fail":
        sys.exit("windlass: scenario.toml:3: unknown key `rat`")
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
        model = figures("simple_model_printed")
        for name, flow in zip("XY", model["flows"], strict=True):
            flow["name"] = name
        print(json.dumps(model))
    elif options.out:
        write_series(options.file.stem, options.out)
    else:
        print(json.dumps(named(figures(options.file.stem))))


main()

"""Traces controllers inside an emulated machine, which is all theirs.

`python -m windlass_lab.controllers.guest PLAN`, where PLAN is a JSON object: windlass, out,
controllers, tcp_ecn, paths. Each run writes `PATH-CONTROLLER.json`, what the probe prints.
"""

import json
import subprocess
import sys
import time
from pathlib import Path as File

from windlass_lab.controllers.paths import Path
from windlass_lab.emulated.network import CLIENT, inside, lay_out, load_controller, run, shape
from windlass_lab.emulated.server import Server

# The name of the BPF program in `windlass cc`; the kernel's name has an underscore.
NEW_ECN = "new-ecn"
# The exit status of a probe without an answer. It happens right after the boot.
_NO_ANSWER = 4
_ATTEMPTS = 3


def main(plan: dict) -> None:
    """Makes all runs of the plan."""
    lay_out(plan["tcp_ecn"])
    for name in plan["controllers"]:
        if name == NEW_ECN:
            run([plan["windlass"], "cc", "load", name])
        else:
            load_controller(name)
    with Server() as server:
        pages = {name: server.url(name.replace("-", "_")) for name in plan["controllers"]}
        for name, page in pages.items():
            if page is None:
                sys.exit(f"{name}: the kernel lacks this controller")
        for described in plan["paths"]:
            _trace(Path(**described), pages, plan)


def _trace(path: Path, pages: dict, plan: dict) -> None:
    rate, delay = f"{path.rate_mbit}mbit", f"{path.rtt_ms}ms"
    shape("rate", rate, "delay", delay, "limit", str(path.limit_packets))
    for name, page in pages.items():
        command = inside(CLIENT, plan["windlass"], "probe", "--cca", "--json", page)
        done = _probe(command)
        out = File(plan["out"]) / f"{path.name}-{name}.json"
        out.write_text(done.stdout)
        print(f"{path.name} {name}: status {done.returncode} {done.stderr.strip()}", flush=True)
        # The server's socket may still send.
        time.sleep(0.5)


def _probe(command: list[str]) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command, capture_output=True, text=True)
    for _ in range(_ATTEMPTS - 1):
        if done.returncode != _NO_ANSWER:
            break
        done = subprocess.run(command, capture_output=True, text=True)
    return done


if __name__ == "__main__":
    main(json.loads(File(sys.argv[1]).read_text()))

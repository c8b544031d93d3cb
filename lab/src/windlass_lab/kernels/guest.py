"""Probes a kernel inside an emulated machine, which is all theirs.

`python -m windlass_lab.kernels.guest PLAN`, where PLAN is a JSON object: windlass, out,
controllers, base, rtt_ms. Each run adds a line to `out`, a JSON object: controller, setting, value,
probe. A probe of null means that the kernel refuses the value or lacks the controller.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import TextIO

from windlass_lab.emulated.network import CLIENT, SERVER, inside, lay_out, load_controller, shape
from windlass_lab.emulated.server import Server
from windlass_lab.kernels.settings import FOLDER, settings_of, values_to_try


def main(plan: dict) -> None:
    """Makes all runs of the plan."""
    lay_out()
    shape("delay", f"{plan['rtt_ms']}ms", "limit", "10000")
    with Server() as server, Path(plan["out"]).open("a") as out:
        for name in plan["controllers"]:
            load_controller(name)
            tests = "A,B,C,D,E,S"
            _write(out, name, None, None, _probe(plan, server.url(name.replace("-", "_")), tests))
        for setting, default in _settings().items():
            for value in values_to_try(default):
                probe = None
                if _set(setting, value):
                    # A new listener, because sockets take some of the settings when they begin.
                    probe = _probe(plan, server.url(plan["base"]), "A,C,E,S")
                _set(setting, default)
                _write(out, plan["base"], setting, value, probe)


def _settings() -> dict[str, str]:
    # Some belong to a namespace, others to the whole machine.
    command = inside(SERVER, sys.executable, "-B", "-m", "windlass_lab.kernels.settings")
    own = subprocess.run(command, capture_output=True, text=True, check=True)
    return {**settings_of(FOLDER), **json.loads(own.stdout)}


def _set(setting: str, value: str) -> bool:
    """Sets it in the server's namespace, or in the machine if it is not of namespaces."""
    command = ["sysctl", "-qw", f"net.ipv4.{setting}={value}"]
    return any(
        subprocess.run(one, capture_output=True, check=False).returncode == 0
        for one in (inside(SERVER, *command), command)
    )


def _probe(plan: dict, url: str | None, tests: str) -> dict | None:
    if url is None:
        return None
    options = ("--tests", tests, "--runs", "1", "--timeout", "2s", "--json")
    command = inside(CLIENT, plan["windlass"], "probe", *options, url)
    printed = subprocess.run(command, capture_output=True, text=True, check=False)
    probe = json.loads(printed.stdout)
    # The runs one by one would make the file twenty times as large.
    del probe["runs"]
    return probe


def _write(
    out: TextIO, controller: str, setting: str | None, value: str | None, probe: dict | None
) -> None:
    line = {"controller": controller, "setting": setting, "value": value, "probe": probe}
    out.write(json.dumps(line) + "\n")
    out.flush()
    print(controller, setting or "", value or "", flush=True)


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text()))

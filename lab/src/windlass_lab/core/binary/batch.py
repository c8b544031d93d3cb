"""Many runs of the simulator in one process, `windlass sim batch`."""

import json
import subprocess
import threading
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from windlass_lab.core.errors import RunError


def summaries(
    windlass: Path, requests: Iterable[Mapping], count: int, jobs: int
) -> Iterator[Mapping]:
    """The result of each of `count` requests, in their order, as they come: a summary, or an object
    whose `error` says why there is none. Raises `RunError` where the process fails, or gives fewer
    results.
    """
    command = [str(windlass), "sim", "batch", "--jobs", str(jobs), "-"]
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
    except OSError as error:
        raise RunError(f"cannot run {windlass}: {error.strerror}") from error
    received = 0
    try:
        _feed(process, requests)
        assert process.stdout
        for line in process.stdout:
            received += 1
            yield _read(line)
        status = process.wait()
    except BaseException:
        process.terminate()
        process.wait()
        raise
    # An error of single requests is a result of them.
    if missing := count - received:
        raise RunError(f"windlass sim batch ended with status {status}; {missing} runs are missing")


def _feed(process: subprocess.Popen, requests: Iterable[Mapping]) -> None:
    # It reads no more than it works on: what waits must not keep its results from being read.
    def write() -> None:
        try:
            assert process.stdin
            with process.stdin as stream:
                stream.writelines(json.dumps(each) + "\n" for each in requests)
        except (BrokenPipeError, ValueError):
            # The process has ended; its status says why.
            return

    threading.Thread(target=write, daemon=True).start()


def _read(line: str) -> Mapping:
    try:
        return json.loads(line)
    except ValueError as error:
        raise RunError(f"windlass sim batch: the output is not JSON: {error}") from error

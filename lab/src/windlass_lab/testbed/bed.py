"""A testbed that stands: built and removed as one, programs started in it."""

import contextlib
import os
import pickle
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

from windlass_lab.core.errors import LabError, RunError
from windlass_lab.testbed import names, remove
from windlass_lab.testbed.topology import Order, Program, Topology

# A kernel's TCP does its work before any program; ToU is one. So both ends of both go before what
# else the machine does, or its load would be measured.
FIRST = ("chrt", "--fifo", "1")
_READY_S = 10.0
_END_S = 3.0
_PLACEHOLDER = re.compile(r"\{(node|file):([^}]+)\}|\{(out|windlass)\}")


class Testbed:
    """A topology and its programs, from `__enter__` to `__exit__`.

    Not to be used by a thread other than the main one: programs end with the thread that started
    them, so that they end when this process is killed.
    """

    # pytest takes it for a class of tests otherwise.
    __test__ = False

    def __init__(
        self,
        topology: Topology,
        programs: Sequence[Program] = (),
        out: Path | None = None,
        windlass: Path | None = None,
    ) -> None:
        self.topology = topology
        self.run = names.new_run()
        self._programs = programs
        self._out = out or Path.cwd()
        self._windlass = windlass
        self._running: list[tuple[str, subprocess.Popen]] = []
        self.scratch = remove.scratch(self.run)

    def __enter__(self) -> "Testbed":
        """Removes what dead runs left, and builds. Raises `RunError`, with nothing left, if it
        cannot.
        """
        if os.geteuid() != 0:
            raise LabError("testbed: needs root, to make network namespaces; nothing was run")
        try:
            remove.sweep()
            self.scratch.mkdir(mode=0o700)
            self._build(routes=False)
            for program in self._programs:
                self._start_program(program)
            self._build(routes=True)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Removes all of it."""
        self.close()

    def close(self) -> None:
        """Ends the programs, removes the namespaces. A second Ctrl-C waits until that is done."""
        with _signals_held():
            self._end_programs()
            remove.remove(self.run)

    def namespace(self, node: str) -> str:
        """The name of a node's namespace, as `ip netns` has it."""
        return names.namespace(self.run, node)

    def start(
        self,
        name: str,
        node: str,
        command: Sequence[str],
        *,
        stdin: int | IO | None = subprocess.DEVNULL,
        stdout: int | IO | None = None,
        stderr: int | IO | None = None,
        text: bool | None = None,
    ) -> subprocess.Popen:
        """Starts a program in a node (outside of all where `node` is empty)."""
        # A group of its own: Ctrl-C reaches it by way of `close`. `nsenter` does not fork, so that
        # the id is the program's own.
        enter = ["nsenter", f"--net={remove.NETNS / self.namespace(node)}"] if node else []
        environment = {**os.environ, remove.RUN_VARIABLE: self.run}
        try:
            process = subprocess.Popen(
                [*enter, "setpriv", "--pdeathsig", "KILL", *command],
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                text=text,
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            raise RunError(f"{name}: cannot start {command[0]}: {error.strerror}") from error
        self._running.append((name, process))
        return process

    def start_logged(self, name: str, node: str, command: Sequence[str]) -> subprocess.Popen:
        """Starts a program in a node with all of its output in its log."""
        with self.log(name).open("w") as log:
            return self.start(name, node, command, stdout=log, stderr=subprocess.STDOUT)

    def start_client(self, name: str, node: str, command: Sequence[str]) -> subprocess.Popen:
        """Starts a program in a node with its standard output in a file of its own, `report`."""
        with self.report(name).open("w") as out, self.log(name).open("w") as log:
            return self.start(name, node, command, stdout=out, stderr=log)

    def report(self, name: str) -> Path:
        """Where the standard output of a client goes."""
        return self.scratch / f"report-{name}"

    def filled(self, command: Sequence[str]) -> list[str]:
        """A command with its placeholders replaced, but for those of files."""
        return [self._filled(word, {}) for word in command]

    def log(self, name: str) -> Path:
        """Where a program's messages go."""
        return self.scratch / f"{name}.log"

    def complaint(self, name: str) -> str:
        """The last line that a program wrote."""
        with contextlib.suppress(OSError):
            lines = self.log(name).read_text(encoding="utf-8", errors="replace").split("\n")
            return next((line.strip() for line in reversed(lines) if line.strip()), "no message")
        return "no message"

    def process(self, name: str) -> subprocess.Popen:
        """A program that was started here."""
        return next(process for known, process in self._running if known == name)

    def end(self, name: str) -> int:
        """Ends a program with SIGTERM. Returns the time of the signal, in ns of CLOCK_MONOTONIC."""
        process = self.process(name)
        signalled_ns = time.monotonic_ns()
        _signal(process, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_END_S)
        return signalled_ns

    def check_alive(self) -> None:
        """Raises `RunError` if a program of the topology has ended."""
        lasting = {program.name for program in self._programs}
        for name, process in self._running:
            if name in lasting and process.poll() is not None:
                raise RunError(
                    f"{name} ended with status {process.returncode}: {self.complaint(name)}"
                )

    def _build(self, routes: bool) -> None:
        # A session of its own, lest Ctrl-C stop it in the middle with a trace of its stack.
        order = pickle.dumps(Order(self.run, self.topology, routes))
        command = [sys.executable, "-P", "-m", "windlass_lab.testbed.build"]
        built = subprocess.run(
            command, input=order, capture_output=True, start_new_session=True, check=False
        )
        if built.returncode != 0:
            lines = built.stderr.decode(errors="replace").strip().splitlines()
            raise RunError(f"testbed: {lines[-1] if lines else 'the builder was killed'}")

    def _start_program(self, program: Program) -> None:
        files = {name: self.scratch / f"{program.name}-{Path(name).name}" for name in program.files}
        for name, text in program.files.items():
            files[name].write_text(self._filled(text, files), encoding="utf-8")
        command = [self._filled(word, files) for word in program.command]
        with self.log(program.name).open("w") as log:
            self.start(program.name, program.node, command, stdout=log, stderr=log)
        wait_until(lambda: self._is_ready(program), f"{program.name}: its devices did not appear")

    def _is_ready(self, program: Program) -> bool:
        self.check_alive()
        by_node: dict[str, set[str]] = {}
        for place in program.ready:
            node, _, device = place.partition("/")
            by_node.setdefault(node, set()).add(device)
        return all(wanted <= self._devices(node) for node, wanted in by_node.items())

    def _devices(self, node: str) -> set[str]:
        """The devices of a node that are up."""
        enter = ["nsenter", f"--net={remove.NETNS / self.namespace(node)}"]
        # NAME or NAME@PEER, state, hardware address
        printed = subprocess.run(
            [*enter, "ip", "-brief", "link", "show", "up"],
            capture_output=True,
            text=True,
            check=False,
        )
        return {line.split()[0].partition("@")[0] for line in printed.stdout.splitlines()}

    def _filled(self, text: str, files: Mapping[str, Path]) -> str:
        """A text with its placeholders replaced."""

        def value(match: re.Match) -> str:
            kind, name, single = match.groups()
            if kind == "node":
                return self.namespace(name)
            if kind == "file":
                if name not in files:
                    raise LabError(f"testbed: there is no file {name} for {match[0]}")
                return str(files[name])
            if single == "windlass" and self._windlass is None:
                raise LabError("testbed: the binary `windlass` is needed: name it with --windlass")
            return str(self._out.resolve() if single == "out" else self._windlass)

        return _PLACEHOLDER.sub(value, text)

    def _end_programs(self) -> None:
        """Asks, waits, kills; in the reverse of the order in which they were started."""
        for _, process in reversed(self._running):
            _signal(process, signal.SIGTERM)
        until = time.monotonic() + _END_S
        for _, process in self._running:
            try:
                process.wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                _signal(process, signal.SIGKILL)
                process.wait()


def wait_until(done: Callable[[], object], complaint: str, seconds: float = _READY_S) -> None:
    """Waits for a condition. Raises `RunError` where it does not come about."""
    until = time.monotonic() + seconds
    while not done():
        if time.monotonic() > until:
            raise RunError(complaint)
        time.sleep(0.01)


def _signal(process: subprocess.Popen, number: int) -> None:
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)


@contextlib.contextmanager
def _signals_held() -> Iterator[None]:
    held = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, held)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

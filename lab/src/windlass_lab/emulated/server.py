"""A web server with a page of 20 MB and a congestion controller of its own at each port.

It runs in the emulated machine: `python -m windlass_lab.emulated.server`. For each line of its
standard input, the name of a controller, it listens at the next port, which it prints, or `none`
where the kernel lacks the controller.
"""

import contextlib
import socket
import subprocess
import sys
import threading
from types import TracebackType
from typing import Self

from windlass_lab.emulated.network import ADDRESS, SERVER, inside

_FIRST_PORT = 8000
_BYTES = 20_000_000
_HEAD = f"HTTP/1.1 200 OK\r\nContent-Length: {_BYTES}\r\nConnection: close\r\n\r\n".encode()


class Server:
    """The server's process."""

    def __enter__(self) -> Self:
        """Starts it in its namespace."""
        self._process = subprocess.Popen(
            inside(SERVER, sys.executable, "-B", "-m", "windlass_lab.emulated.server"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _where: TracebackType | None,
    ) -> None:
        """Ends it."""
        self._process.kill()
        self._process.wait()

    def url(self, controller: str) -> str | None:
        """A page that a new listener serves with this controller; `None` if the kernel lacks it."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(f"{controller}\n")
        self._process.stdin.flush()
        port = self._process.stdout.readline().strip()
        return f"http://{ADDRESS}:{int(port)}/" if port.isdigit() else None


def _serve() -> None:
    for index, name in enumerate(sys.stdin):
        port = _FIRST_PORT + index
        try:
            listening = _listen(port, name.strip())
        except OSError:
            print("none", flush=True)
            continue
        threading.Thread(target=_accept, args=(listening,), daemon=True).start()
        print(port, flush=True)


def _listen(port: int, controller: str) -> socket.socket:
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, controller.encode())
    listening.bind((ADDRESS, port))
    listening.listen(64)
    return listening


def _accept(listening: socket.socket) -> None:
    while True:
        connection, _ = listening.accept()
        threading.Thread(target=_answer, args=(connection,), daemon=True).start()


def _answer(connection: socket.socket) -> None:
    # The probe resets the connection when it has seen enough.
    with contextlib.suppress(OSError), connection:
        connection.recv(65536)
        connection.sendall(_HEAD + bytes(_BYTES))


if __name__ == "__main__":
    _serve()

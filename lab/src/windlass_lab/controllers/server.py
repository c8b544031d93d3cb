"""A web server with a page of 20 MB and a congestion controller of its own at each port.

It runs in the emulated machine: `python -m windlass_lab.controllers.server ADDRESS NAME...`.
"""

import contextlib
import socket
import sys
import threading

FIRST_PORT = 8000
_BYTES = 20_000_000
_HEAD = f"HTTP/1.1 200 OK\r\nContent-Length: {_BYTES}\r\nConnection: close\r\n\r\n".encode()


def serve(address: str, controllers: list[str]) -> None:
    """Serves until the process ends. Raises `OSError` where the kernel lacks a controller."""
    sockets = [_listen(address, FIRST_PORT + index, name) for index, name in enumerate(controllers)]
    for listening in sockets:
        threading.Thread(target=_accept, args=(listening,), daemon=True).start()
    print("ready", flush=True)
    threading.Event().wait()


def _listen(address: str, port: int, controller: str) -> socket.socket:
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, controller.encode())
    listening.bind((address, port))
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
    serve(sys.argv[1], sys.argv[2:])

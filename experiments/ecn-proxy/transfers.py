#!/usr/bin/env python3
"""The transfers of all-at-once: several connections at a time, as `iperf -P` opens them, without
one beside them for what the ends have to say, which RED could drop.

    transfers.py serve down|up MEGABYTES                   # until it is killed
    transfers.py run down|up MEGABYTES HOST CONNECTIONS    # seconds until all bytes have come
"""

import socket
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

PORT = 5201
CONTROLLER = b"cubic"
CHUNK = bytes(65_536)


def give(connection: socket.socket, count: int) -> None:
    """Sends that many bytes, and waits until the other end has read them."""
    while count > 0:
        count -= connection.send(CHUNK[:count])
    connection.shutdown(socket.SHUT_WR)
    connection.recv(1)
    connection.close()


def take(connection: socket.socket, count: int) -> None:
    """Reads until the other end has no more."""
    while got := connection.recv(len(CHUNK)):
        count -= len(got)
    connection.close()
    if count:
        raise EOFError(f"{count} bytes did not come")


def serve(direction: str, count: int) -> None:
    role = give if direction == "down" else take
    listener = socket.create_server(("0.0.0.0", PORT))
    # Those that it accepts have it, too.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, CONTROLLER)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=role, args=(connection, count), daemon=True).start()


def run(direction: str, count: int, host: str, connections: int) -> None:
    role = take if direction == "down" else give

    def transfer(_: int) -> None:
        connection = socket.socket()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, CONTROLLER)
        connection.connect((host, PORT))
        role(connection, count)

    began = time.monotonic()
    with ThreadPoolExecutor(connections) as pool:
        # The result of each, as an error is in it.
        list(pool.map(transfer, range(connections)))
    print(f"{time.monotonic() - began:.3f}")


if __name__ == "__main__":
    task, direction, megabytes, *rest = sys.argv[1:]
    count = int(megabytes) * 1_000_000
    if task == "serve":
        serve(direction, count)
    else:
        run(direction, count, rest[0], int(rest[1]))

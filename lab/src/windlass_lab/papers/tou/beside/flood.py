"""Several connections of the kernel's TCP that send for some seconds: a program for each end.
Acknowledged data counts, as in `windlass tou perf`.
"""

import argparse
import json
import selectors
import socket
import sys
import time
from collections.abc import Sequence

from windlass_lab.testbed.sample import of_socket
from windlass_lab.testbed.sockets import LISTENING, connected

_CHUNK = bytes(1 << 17)


def receive(address: str, port: int, count: int) -> None:
    """Takes `count` connections and reads each to its end."""
    with selectors.DefaultSelector() as ready, socket.create_server((address, port)) as listener:
        ready.register(listener, selectors.EVENT_READ)
        print(LISTENING, flush=True)
        buffer, left = bytearray(len(_CHUNK)), count
        while left:
            for key, _ in ready.select():
                if key.fileobj is listener:
                    ready.register(listener.accept()[0], selectors.EVENT_READ)
                    continue
                connection = key.fileobj
                assert isinstance(connection, socket.socket)
                try:
                    read = connection.recv_into(buffer)
                except ConnectionResetError:
                    read = 0
                if not read:
                    ready.unregister(connection)
                    connection.close()
                    left -= 1


def send(
    address: str, port: int, count: int, controller: str, paced: bool, omit_s: float, lasts_s: float
) -> dict:
    """Sends by `count` connections; the bytes acknowledged in `lasts_s` seconds after `omit_s`."""
    connections = [connected(address, port, controller, paced) for _ in range(count)]
    begin = time.monotonic()
    _fill(connections, begin + omit_s)
    before, from_s = _acknowledged(connections), time.monotonic()
    _fill(connections, from_s + lasts_s)
    after, to_s = _acknowledged(connections), time.monotonic()
    controllers = {of_socket(connection).controller for connection in connections}
    for connection in connections:
        # Discards what is not sent yet: the time is up.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, bytes((1, *bytes(7))))
        connection.close()
    return {
        "controllers": sorted(controllers),
        "bytes": [end - start for start, end in zip(before, after, strict=True)],
        "seconds": to_s - from_s,
    }


def _fill(connections: Sequence[socket.socket], until: float) -> None:
    with selectors.DefaultSelector() as ready:
        for connection in connections:
            ready.register(connection, selectors.EVENT_WRITE)
        while (left := until - time.monotonic()) > 0:
            for key, _ in ready.select(left):
                assert isinstance(key.fileobj, socket.socket)
                key.fileobj.send(_CHUNK)


def _acknowledged(connections: Sequence[socket.socket]) -> list[int]:
    return [of_socket(connection).bytes_acked for connection in connections]


def main() -> int:
    """One end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("end", choices=("receive", "send"))
    parser.add_argument("address")
    parser.add_argument("port", type=int)
    parser.add_argument("--parallel", type=int, default=1)
    parser.add_argument("--controller", default="cubic")
    parser.add_argument("--paced", action="store_true")
    parser.add_argument("--omit", type=float, default=0.0, help="seconds")
    parser.add_argument("--time", type=float, default=10.0, help="seconds")
    options = parser.parse_args()
    where = options.address, options.port, options.parallel
    if options.end == "receive":
        receive(*where)
        return 0
    printed = send(*where, options.controller, options.paced, options.omit, options.time)
    json.dump(printed, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""A transfer by the kernel's TCP, a program for each end, in the manner of the paper's ttcp, whose
sender also asked its socket for the window. No interpreter's work is between a segment and its ACK.
"""

import argparse
import json
import select
import socket
import sys
import time
from collections.abc import Iterator

from windlass_lab.testbed.sample import Sample, of_socket
from windlass_lab.testbed.sockets import LISTENING, connected

_CHUNK = bytes(1 << 18)


def receive(address: str, port: int) -> None:
    """Takes one connection, reads it to its end, and closes it."""
    with socket.create_server((address, port)) as listener:
        print(LISTENING, flush=True)
        connection, _ = listener.accept()
    buffer = bytearray(len(_CHUNK))
    with connection:
        while connection.recv_into(buffer):
            pass


def send(address: str, port: int, size: int, controller: str, sample_s: float, paced: bool) -> dict:
    """Sends `size` bytes: how long until the receiver had all of them, and samples meanwhile."""
    with connected(address, port, controller, paced) as connection:
        begin = time.monotonic()
        samples = list(_sampled(connection, size, sample_s))
        seconds = time.monotonic() - begin
        samples.append(of_socket(connection))
    return {
        "seconds": seconds,
        "controller": samples[0].controller,
        "mss": samples[-1].snd_mss,
        "samples": [_row(sample, begin) for sample in samples],
    }


def _sampled(connection: socket.socket, size: int, sample_s: float) -> Iterator[Sample]:
    """Sends, and waits until the receiver has closed, which it does when it has read all."""
    poll = select.poll()
    poll.register(connection, select.POLLOUT | select.POLLIN)
    due = time.monotonic()
    while True:
        now = time.monotonic()
        if now >= due:
            yield of_socket(connection)
            due = max(due + sample_s, now)
        for _, event in poll.poll(max(0.0, due - time.monotonic()) * 1000):
            if event & select.POLLIN:
                connection.recv(1)
                return
            if event & select.POLLOUT and size:
                size -= connection.send(memoryview(_CHUNK)[: min(size, len(_CHUNK))])
                if not size:
                    connection.shutdown(socket.SHUT_WR)
                    poll.modify(connection, select.POLLIN)


def _row(sample: Sample, begin: float) -> list[float]:
    """Seconds, window and threshold in segments, bytes acknowledged, sent again, timeouts."""
    seconds = sample.time_ns / 1e9 - begin
    return [
        round(seconds, 6),
        sample.cwnd,
        sample.ssthresh,
        sample.bytes_acked,
        sample.total_retrans,
        sample.total_rto,
    ]


def main() -> int:
    """One end of a transfer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("end", choices=("receive", "send"))
    parser.add_argument("address")
    parser.add_argument("port", type=int)
    parser.add_argument("--bytes", type=int)
    parser.add_argument("--controller")
    parser.add_argument("--sample", type=float, help="seconds")
    parser.add_argument("--paced", action="store_true")
    options = parser.parse_args()
    if options.end == "receive":
        receive(options.address, options.port)
    else:
        printed = send(
            options.address,
            options.port,
            options.bytes,
            options.controller,
            options.sample,
            options.paced,
        )
        json.dump(printed, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Sockets of the kernel's TCP with a congestion controller, for programs that send in a testbed."""

import socket

# The line with which a receiver says that it accepts connections.
LISTENING = "listening"
# asm-generic/socket.h. With a limit, however high, TCP paces by itself.
_SO_MAX_PACING_RATE = 47
_UNLIMITED_BYTES_PER_S = 2**31 - 1


def connected(address: str, port: int, controller: str, paced: bool) -> socket.socket:
    """A non-blocking connection with this congestion controller, whose sender paces or does not."""
    connection = socket.socket()
    try:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, controller.encode())
        if paced:
            connection.setsockopt(socket.SOL_SOCKET, _SO_MAX_PACING_RATE, _UNLIMITED_BYTES_PER_S)
        connection.connect((address, port))
        connection.setblocking(False)
    except BaseException:
        connection.close()
        raise
    return connection

"""Ports for servers that are restarted at the same address."""

import random
import socket

PORTS = range(20_000, 32_000)
"""Below the range from which the kernel chooses, so that no other program gets one between two starts of a server."""


def fixed_port() -> int:
    """A port that is free now, and stays so when its server has ended."""
    while True:
        port = random.choice(PORTS)
        with socket.socket() as tried:
            try:
                tried.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port

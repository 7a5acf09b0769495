"""Pure. Which addresses stay within this machine."""

from __future__ import annotations

import ipaddress


def is_loopback(host: str) -> bool:
    """For the host of an address, whether it is a number or a name."""
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost"
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return (mapped or found).is_loopback

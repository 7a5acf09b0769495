"""Which start of the machine this is: process ids and start times mean something only within one."""

from __future__ import annotations

from codex_mcp.base.files import read_if_there


def boot_id() -> str:
    """What names this machine since its last start; empty where it has no such name, and then nothing proves an end."""
    return (read_if_there("/proc/sys/kernel/random/boot_id", 64) or b"").decode(errors="replace").strip()

"""A small process that ends what a core and its commands leave behind when this server is killed.

A killed server cannot do it, and the process that inherits the commands does not know them. The guard waits until the
server's end of a pipe is closed, gives the core the time to end by itself, and kills every process that has the
server's mark in its environment, until it finds none twice: the kernel does not show the environment of a process
that is replacing its program. A shell is enough for that, and takes a tenth of a Python's memory. Linux only; without
`sh` and a `grep` that knows -z there is no guard.
"""

from __future__ import annotations

import logging
import os
import sys
from typing import Final

from codex_mcp.base.processes.marks import SERVED_BY
from codex_mcp.transports.child import Child, start_child

logger = logging.getLogger(__name__)

PATIENCE: Final = 2
"""Seconds for the core to end by itself once the server is gone. It takes some tenths."""

ROUNDS: Final = 50
"""A process may start others while it is being killed; one that is faster than this is a fork bomb."""

SCRIPT: Final = f"""
read -r _
sleep {PATIENCE}
rounds={ROUNDS}
looked=
while [ $rounds -gt 0 ]; do
    found=$(grep -lsz "^{SERVED_BY}=$1\\$" /proc/[0-9]*/environ)
    if [ -z "$found" ]; then
        [ -z "$looked" ] || exit 0
        looked=yes
        sleep 0.1
        continue
    fi
    looked=
    for file in $found; do
        pid=${{file#/proc/}}
        kill -9 "${{pid%/environ}}"
    done
    rounds=$((rounds - 1))
done
"""


async def start_guard(mark: str) -> Child | None:
    """Start the guard of the processes with this mark; to be killed when the server has ended them itself."""
    if sys.platform != "linux":
        return None
    try:
        return await start_child(["sh", "-c", SCRIPT, "codex-mcp-guard", mark], {"PATH": os.defpath}, 1024)
    except OSError as exc:
        logger.warning("cannot start the guard; should this server be killed, commands may outlive it: %s", exc)
        return None

"""A small process that ends the remaining processes of a core and its commands when this server is killed.

The core itself is killed with the server, by the kernel: it would go on for some tenths of a second, in which requests
to the model leave. Its commands survive that. The guard waits until the server's end of a pipe is closed, and kills
every process with the server's mark in its environment, and a little later our own runs of git and trials, until it
finds none twice: the kernel does not show the environment of a process that is replacing its program. It is a shell
script, which needs a tenth of Python's memory. Linux only; it needs `sh` and a `grep` with -z.

The guard of a core that may outlive its server first waits for some seconds (`Lease`). If its word is not in the file
any more, another server has taken the core over, with a guard of its own, or has ended it, and this one leaves.
"""

from __future__ import annotations

import logging
import os
import sys
from typing import Final

from msgspec import Struct

from codex_mcp.base.processes.marks import OURS, RUN_BY, SERVED_BY
from codex_mcp.transports.child import Child, start_child

logger = logging.getLogger(__name__)

PATIENCE: Final = 2
"""Seconds for our own runs of git to end by themselves once the server is gone."""

ROUNDS: Final = 50
"""A process may start others while it is being killed; one that is faster than this is a fork bomb."""

SCRIPT: Final = f"""
end() {{
    rounds={ROUNDS}
    looked=
    while [ $rounds -gt 0 ]; do
        found=$(grep -lsz "$@" /proc/[0-9]*/environ)
        if [ -z "$found" ]; then
            [ -z "$looked" ] || return 0
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
}}
read -r _
waited=0
while [ "$waited" -lt "$3" ]; do
    sleep 1
    waited=$((waited + 1))
    [ "$waited" -ne {PATIENCE} ] || end -e "^{RUN_BY}=$2\\$"
    owner=
    read -r owner <"$4"
    [ "$owner" = "$5" ] || {{
        [ "$waited" -ge {PATIENCE} ] || {{ sleep {PATIENCE}; end -e "^{RUN_BY}=$2\\$"; }}
        exit 0
    }}
done 2>/dev/null
end -e "^{SERVED_BY}=$1\\$"
sleep {PATIENCE}
end -e "^{SERVED_BY}=$1\\$" -e "^{RUN_BY}=$2\\$"
[ "$3" = 0 ] || rm -f "$4"
"""


class Lease(Struct, frozen=True):
    """How long a core may live without a server."""

    seconds: int
    file: str
    """Has the word of the server whose core it is; a sandboxed command cannot write it."""
    word: str


def guard_words(mark: str, lease: Lease | None = None) -> list[str]:
    """The command line of the guard of the processes with this mark."""
    words = ["0", "", ""] if lease is None else [str(lease.seconds), lease.file, lease.word]
    return ["sh", "-c", SCRIPT, "codex-mcp-guard", mark, OURS, *words]


async def start_guard(mark: str) -> Child | None:
    """Start the guard of the processes with this mark; to be killed when the server has ended them itself."""
    if sys.platform != "linux":
        return None
    try:
        return await start_child(guard_words(mark), {"PATH": os.defpath}, 1024)
    except OSError as exc:
        logger.warning("cannot start the guard; should this server be killed, commands may outlive it: %s", exc)
        return None

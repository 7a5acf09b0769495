"""`python -m tests.support.measured_rendezvous`: a rendezvous that says on SIGUSR1 how much memory it has in use.

It collects its garbage first. Closed sockets are cycles of objects, and when the interpreter collects these by itself
depends on what else it does; so does the memory that it takes from the system.
"""

import ctypes
import gc
import signal
import sys

from codex_mcp.cli.main import main


class Mallinfo(ctypes.Structure):
    """struct mallinfo2 of glibc."""

    _fields_ = [(name, ctypes.c_size_t) for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd")]
    _fields_ += [(name, ctypes.c_size_t) for name in ("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")]


def allocated_kib() -> int:
    """What C code and large objects have in use; 0 where the C library does not tell."""
    mallinfo = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if mallinfo is None:
        return 0
    mallinfo.restype = Mallinfo
    info = mallinfo()
    return int(info.uordblks + info.hblkhd) // 1024


def tell(*_: object) -> None:
    gc.collect()
    sys.stderr.write(f"in use: {sys.getallocatedblocks()} objects, {allocated_kib()} KiB\n")
    sys.stderr.flush()


if __name__ == "__main__":
    signal.signal(signal.SIGUSR1, tell)
    sys.exit(main(sys.argv[1:]))

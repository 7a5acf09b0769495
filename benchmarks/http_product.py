"""`python -m benchmarks.http_product`: `codex-mcp mcp-server` as users start it, with its own tools and its log.

It prints its port, and serves until its stdin ends.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import tempfile
import threading
import time

from codex_mcp.cli.main import main


def announce_and_wait(port: int) -> None:
    """Print the port when somebody listens there; end the server with stdin."""
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            break
        time.sleep(0.01)
    print(port, flush=True)
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="codex-mcp-bench-") as folder:
        os.environ["CODEX_HOME"] = folder
        with socket.create_server(("127.0.0.1", 0)) as found:
            free = found.getsockname()[1]
        threading.Thread(target=announce_and_wait, args=(free,), daemon=True).start()
        sys.argv[1:] = ["mcp-server", "--port", str(free)]
        sys.exit(main())

"""`python -m tests.conformance --port P`: the core of the product with the fixtures of the conformance suite."""

import argparse
import asyncio
import sys
from pathlib import Path

from codex_mcp.base.signals import signals_received
from codex_mcp.wire import mcp
from tests.conformance.fixtures import CAPABILITIES, Fixtures
from tests.support.http.endpoints import KEY, Served, served


async def serve(home: Path, port: int) -> None:
    """Serve until a signal comes."""
    here: list[Served] = []

    def announce(change: mcp.Change) -> None:
        here[0].hub.announce(change)

    with signals_received() as signals:
        async with served(home, Fixtures(KEY, announce).table(), CAPABILITIES, port=port) as server:
            here.append(server)
            sys.stderr.write(f"serving MCP at http://localhost:{server.port}/mcp\n")
            sys.stderr.flush()
            await signals.get()


def main() -> None:
    """Read the arguments and serve."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--home", type=Path, default=Path(), help="a folder for files of the server")
    arguments = parser.parse_args()
    asyncio.run(serve(arguments.home, arguments.port))


main()

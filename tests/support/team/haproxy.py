"""HAProxy from the system, with the configuration of docs/scale.md."""

import asyncio
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from tests.support.patience import PATIENCE
from tests.support.team.cluster import free_port

PAGE = Path(__file__).parents[3] / "docs/scale.md"
PROGRAMS = ("haproxy", "/usr/sbin/haproxy")


def program() -> str:
    """Where it is."""
    found = next(filter(None, map(shutil.which, PROGRAMS)), None)
    assert found is not None, "HAProxy is missing: run `make haproxy` as root, or install the package haproxy"
    return found


def configuration(port: int, servers: Sequence[int]) -> str:
    """That of the page, for servers of this machine."""
    block = re.search(r"^```haproxy\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert block is not None
    text = re.sub(r"^ *(server .*\n)+", "SERVERS\n", re.sub(r"^    server .*\n", "SERVERS\n", block[1], flags=re.M))
    lines = [f"    server agents-{each} 127.0.0.1:{each} check" for each in servers]
    text = re.sub(r"(SERVERS\n)+", "\n".join(lines) + "\n", text)
    return re.sub(r"bind .*", f"bind 127.0.0.1:{port}", text)


class HaProxy:
    """One proxy in front of these servers."""

    def __init__(self, folder: Path, servers: Sequence[int]) -> None:
        self.port = free_port()
        self._file = folder / "haproxy.cfg"
        self._file.write_text(configuration(self.port, servers))
        self._process: asyncio.subprocess.Process | None = None

    async def __aenter__(self) -> "HaProxy":
        self._process = await asyncio.create_subprocess_exec(program(), "-db", "-f", str(self._file))
        async with asyncio.timeout(PATIENCE):
            while True:
                assert self._process.returncode is None, "HAProxy has ended"
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", self.port)
                except OSError:
                    continue
                writer.close()
                return self

    async def __aexit__(self, *_: object) -> None:
        assert self._process is not None
        self._process.terminate()
        await self._process.wait()

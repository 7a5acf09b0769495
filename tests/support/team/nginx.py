"""nginx from the system, with the configuration of docs/scale.md."""

import asyncio
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from tests.support.patience import PATIENCE
from tests.support.team.cluster import free_port
from tests.support.team.haproxy import PAGE

PROGRAMS = ("nginx", "/usr/sbin/nginx")

AROUND = """{user}daemon off; error_log stderr; pid {folder}/nginx.pid;
events {{}}
http {{
access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
{block}
}}
"""


def program() -> str:
    """Where it is."""
    found = next(filter(None, map(shutil.which, PROGRAMS)), None)
    assert found is not None, "nginx is missing: run `make nginx` as root, or install the package nginx"
    return found


def configuration(folder: Path, port: int, servers: Sequence[int]) -> str:
    """That of the page, for servers of this machine, without TLS."""
    block = re.search(r"^```nginx\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert block is not None
    places = "".join(f"    server 127.0.0.1:{each};\n" for each in servers)
    text = re.sub(r"(    server agents-.*\n)+", places, block[1])
    text = re.sub(r".*(ssl_certificate|proxy_ssl_).*\n", "", text).replace("https://agents", "http://agents")
    text = text.replace("listen 8443 ssl", f"listen 127.0.0.1:{port}")
    return AROUND.format(user="user root; " if os.getuid() == 0 else "", folder=folder, block=text)


class Nginx:
    """One proxy in front of these servers."""

    def __init__(self, folder: Path, servers: Sequence[int]) -> None:
        self.port = free_port()
        self._file = folder / "nginx.conf"
        self._file.write_text(configuration(folder, self.port, servers))
        self._process: asyncio.subprocess.Process | None = None

    async def __aenter__(self) -> "Nginx":
        argv = (program(), "-e", "stderr", "-c", str(self._file))
        self._process = await asyncio.create_subprocess_exec(*argv, stderr=asyncio.subprocess.DEVNULL)
        async with asyncio.timeout(PATIENCE):
            while True:
                assert self._process.returncode is None, "nginx has ended"
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

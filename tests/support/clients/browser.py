"""A real Chromium, with a new profile, driven from a test."""

import asyncio
import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from tests.support.clients.judges import NODE_MODULES, node, package
from tests.support.patience import PATIENCE
from tests.support.servers.child import Child

DRIVER = Path(__file__).parents[2] / "judges/browser.mjs"
PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def chromium() -> str:
    """The program of a Chromium. It is never skipped."""
    found = next(filter(None, map(shutil.which, PROGRAMS)), None)
    assert found is not None, "Chromium is not installed; on Debian and Ubuntu, say `sudo apt install chromium`"
    return found


SLOW = """{
  let at = 0;
  performance.now = () => at;
  window.pass = (ms) => { at += ms; };
  const set = window.setTimeout;
  window.setTimeout = (act, ms, ...more) => set(act, ms === 6000 ? 600000 : ms, ...more);
}"""
"""Between two keys no time passes, however busy the machine is, unless a test says so; what was armed stays armed."""


class Browser:
    """One page of one browser."""

    def __init__(self, child: Child) -> None:
        self._child = child

    async def do(self, act: str, **given: Any) -> Any:
        """Do this, and wait until it is done. What is waited for must come within the patience of tests."""
        self._child.write(json.dumps({"act": act, **given}).encode() + b"\n")
        async with asyncio.timeout(2 * PATIENCE):
            answer = json.loads(await self._child.stdout.readline())
        assert "error" not in answer, answer["error"]
        return answer["value"]

    async def see(self, selector: str, text: str = "") -> None:
        """Wait until this is seen."""
        await self.do("see", selector=selector, text=text)

    async def keys_alone(self) -> None:
        """From now on no time passes between two keys, on every page that is loaded; `a_moment` lets it pass."""
        await self.do("before", script=SLOW)

    async def a_moment(self) -> None:
        """Letters do nothing in the first moment of a page, and shortly after another letter."""
        await self.do("tell", expression="pass(1000)")

    async def keys(self, *keys: str) -> None:
        """Press these keys, one after the other."""
        for key in keys:
            await self.do("press", key=key)


@contextlib.asynccontextmanager
async def running_browser() -> AsyncIterator[Browser]:
    """A browser without a page; `open` makes one. It makes a socket in its home, whose path must be short."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        async with _started(home) as browser:
            yield browser


@contextlib.asynccontextmanager
async def _started(home: str) -> AsyncIterator[Browser]:
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": home,
        "TMPDIR": home,
        "CHROMIUM": chromium(),
        "MODULES": str(NODE_MODULES),
        "AXE": str(package("axe-core") / "axe.min.js"),
        "PATIENCE_MS": str(int(PATIENCE * 1000)),
    }
    package("playwright-core")
    async with Child([node(), str(DRIVER)], environment, Path(home)) as child:
        async with asyncio.timeout(2 * PATIENCE):
            assert b"ready" in await child.stdout.readline(), child.stderr
        try:
            yield Browser(child)
        finally:  # it closes the browser, which would survive a signal
            child.close_stdin()
            await child.exit_code()

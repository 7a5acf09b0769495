"""Conservation of requests and tokens on the newest Codex, and on the last one with an mcp-server of its own."""

from pathlib import Path

import pytest

from tests.judges.test_newest_codex import ON_PATH, home
from tests.support.clients.judges import package
from tests.support.team.conservation import conserve

__all__ = ["home"]

TURNS = 1000

SEED = 2

pytestmark = pytest.mark.timeout(600)  # each takes a minute on two processors that do nothing else


@pytest.mark.usefixtures("home")
async def test_the_newest_codex_uses_what_we_report(tmp_path: Path) -> None:
    done = await conserve(tmp_path, TURNS, SEED, environment=ON_PATH)
    assert done["turns"] >= TURNS
    assert {"restart by SIGKILL", "restart by SIGTERM", "asked for shortened", "asked for nested"} <= done.keys()


async def test_an_old_codex_uses_what_we_report(tmp_path: Path) -> None:
    old = ("--codex-bin", str(package("codex-old") / "bin/codex.js"))
    done = await conserve(tmp_path, TURNS, SEED, flags=old, is_old=True)
    assert done["turns"] >= TURNS
    assert {"restart by SIGKILL", "restart by SIGTERM", "asked for shortened", "asked for spawn"} <= done.keys()

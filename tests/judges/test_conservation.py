"""Conservation of tokens on the newest Codex, and on the last one with an mcp-server of its own."""

from pathlib import Path

import pytest

from tests.judges.test_newest_codex import ON_PATH, home
from tests.support.clients.judges import package
from tests.support.team.conservation import conserve

__all__ = ["home"]

ROUNDS = 11

SEED = 2


@pytest.mark.usefixtures("home")
async def test_the_newest_codex_uses_what_we_report(tmp_path: Path) -> None:
    done = await conserve(tmp_path, ROUNDS, SEED, environment=ON_PATH)
    assert {"restart by SIGKILL", "restart by SIGTERM", "has_a_nested_helper", "reaches_a_goal"} <= done.keys()


async def test_an_old_codex_uses_what_we_report(tmp_path: Path) -> None:
    old = ("--codex-bin", str(package("codex-old") / "bin/codex.js"))
    done = await conserve(tmp_path, ROUNDS, SEED, flags=old, is_old=True)
    assert {"restart by SIGKILL", "restart by SIGTERM", "has_a_helper", "reaches_a_goal"} <= done.keys()

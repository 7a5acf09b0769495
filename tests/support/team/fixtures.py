"""`async with team(*flags) as (server, model):` is `codex-mcp serve`, on the installed Codex.

Servers of one test share their home and their state, as those of one person do. To run the same tests on another Codex,
import `team` and the tests where a fixture `codex_flags` of your own says which.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.team.team_server import TeamServer, team_server

Team: TypeAlias = Callable[..., AbstractAsyncContextManager[tuple[TeamServer, ScriptedModel]]]


@pytest.fixture
def codex_flags() -> Sequence[str]:
    """The flags that choose a Codex: none, for the one that comes with us."""
    return ()


@pytest.fixture
def team(tmp_path: Path, codex_flags: Sequence[str]) -> Team:
    """What starts servers."""

    def start(*flags: str, **options: Any) -> AbstractAsyncContextManager[tuple[TeamServer, ScriptedModel]]:
        return team_server(tmp_path, *codex_flags, *flags, **options)

    return start

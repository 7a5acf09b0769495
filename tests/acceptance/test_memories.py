"""Codex's memories are off: it would ask the model for them in the background, and report nothing of it."""

import sqlite3
from contextlib import closing
from pathlib import Path

from tests.support.servers.mcp_server import scripted_server
from tests.support.team.own_turns import OWN_TURNS

CONFIG = """
[features]
memories = true

[memories]
min_rollout_idle_hours = 0
"""

LONG_AGO = 200_000
"""Seconds. What Codex remembers is some hours old."""

HELLO = {"prompt": "hello", "config": {"features": {"memories": True}}}


def let_time_pass(home: Path) -> None:
    """The threads were used long ago, for Codex."""
    (path,) = home.glob("state_*.sqlite")
    with closing(sqlite3.connect(path)) as database:
        for column in ("updated_at", "recency_at"):
            earlier = f"{column} = {column} - {LONG_AGO}, {column}_ms = {column}_ms - {LONG_AGO}000"
            database.execute(f"UPDATE threads SET {earlier}")
        database.commit()


async def test_no_request_leaves_for_them_whatever_config_toml_and_calls_say(tmp_path: Path) -> None:
    home = tmp_path / "home/.codex"
    home.mkdir(parents=True)
    (home / "config.toml").write_text(CONFIG)
    for is_later in (False, True):
        async with scripted_server(tmp_path, script=OWN_TURNS) as (server, model):
            await server.initialize()
            threads = [(await server.run("codex", HELLO))["structuredContent"]["threadId"] for _ in range(3)]
            assert [each.thread for each in model.counts] == threads
        if not is_later:
            let_time_pass(home)

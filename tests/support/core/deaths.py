"""Deaths of an owner of turns (`dying_owner`) one after the other, and what has to be true after the last one."""

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.patience import PATIENCE
from tests.support.servers.mcp_server import TOUR

EACH = 120
"""Tokens of one answer of the scripted model."""

PROMPTS = (
    ('[[scene: say text="one two three four five" deltas=5]]', 1),
    ('[[scene: run cmd="echo ran >> effects"]]', 2),
    ('[[scene: escalate cmd="echo approved >> effects"]]', 2),
    ('[[scene: call tool="post"]]', 2),
    ('[[scene: say text="done"]]', 1),
)
"""And how often each asks the model."""

ANSWERS = ("one two three four five", "The command answered:", "It ran.", "The tool answered:\ndone", "done")


async def live(folder: Path, plan: Path, die_at: str) -> bool:
    """One owner. Whether it came to its end; otherwise it has killed itself."""
    words = ["-m", "tests.support.core.dying_owner", str(folder), str(plan), die_at]
    process = await asyncio.create_subprocess_exec(sys.executable, *words, stderr=asyncio.subprocess.PIPE)
    async with asyncio.timeout(2 * PATIENCE):
        _, said = await process.communicate()
    assert process.returncode in (0, -9), said.decode()
    return process.returncode == 0


async def lives(folder: Path, deaths: Iterable[str], times: int = 1) -> Counter[str]:
    """Owners that die at these steps, and one that does not. Returns at which steps they have died."""
    async with ScriptedModel(load_script(TOUR)) as model:
        plan = folder / "plan.json"
        prompts = [prompt for prompt, _ in PROMPTS] * times
        plan.write_text(json.dumps({"overrides": model.codex_overrides(), "prompts": prompts}))
        for step in deaths:
            if await live(folder, plan, step):
                break
        else:
            assert await live(folder, plan, "never")
        check(folder, times)
        assert len(model.requests) == times * sum(asked for _, asked in PROMPTS), "each prompt once"
    path = folder / "deaths"
    return Counter(path.read_text().splitlines() if path.exists() else [])


def check(folder: Path, times: int) -> None:
    """Each answer once, in order, with its tokens; each effect once."""
    rows = [json.loads(line) for line in (folder / "answers").read_text().splitlines()]
    assert [row["number"] for row in rows] == list(range(times * len(PROMPTS))), rows
    for row in rows:
        (_, asked), answer = PROMPTS[row["number"] % len(PROMPTS)], ANSWERS[row["number"] % len(PROMPTS)]
        assert row["status"] == "completed", row
        assert row["content"].startswith(answer), row
        assert row["tokens"] == asked * EACH, row
    assert len(list(folder.glob("*.effect"))) == times
    assert (folder / "work" / "effects").read_text().split() == ["ran", "approved"] * times

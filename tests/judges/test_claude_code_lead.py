"""The real Claude Code, headless, leads three agents in worktrees of their own: what its model is told, what stays.

The agents are held at gates, so that one is steered and one is interrupted in the middle of its turn.
"""

from pathlib import Path

from tests.support.processes import all_ended
from tests.support.repositories import branches, git, registrations
from tests.support.team.leading import AGENTS, FILE, lead, page, steady


async def test_it_leads_three_agents_and_the_page_about_it_is_true(tmp_path: Path) -> None:
    led = await lead(tmp_path)
    await all_ended(tmp_path / "home")
    assert [call.tool for call in led.calls] == [
        *("codex",) * 3,
        *("codex-reply", "codex_interrupt", "codex_diff", "codex_wait"),
        *("codex_close",) * 3,
    ]
    assert not [told.text for told in led.told if told.is_error]
    *started, steered, stopped, diff, waited, parser, guide, fuzz = led.told
    assert [(told.json["identity"], told.json["status"]) for told in started] == [(name, "running") for name in AGENTS]
    assert (steered.json["identity"], steered.json["status"]) == ("guide", "running")
    assert (stopped.json["identity"], stopped.json["status"]) == ("fuzz", "interrupted")
    assert stopped.json["content"].endswith("I have a draft of fuzz.py.")
    assert "+    return [line for line in text.split() if line]" in diff.text.splitlines()
    ended = {turn["identity"]: turn for turn in waited.json["finished"]}
    assert {name: (turn["status"], turn["content"]) for name, turn in ended.items()} == {
        "parser": ("completed", "parse() skips empty lines. Committed."),
        "guide": ("completed", "USAGE.md is written, with a part on Windows."),  # which only the steering prompt wanted
    }
    assert waited.json["running"] == []
    assert [ended[name]["worktree"]["commits"] for name in ("parser", "guide")] == [1, 1]
    assert [told.json["status"] for told in (parser, guide, fuzz)] == ["closed"] * 3
    assert [told.json["worktree"]["path"] for told in (parser, guide)] == [None, None]
    _check_what_is_left(tmp_path / "work", Path(fuzz.json["worktree"]["path"]))
    assert steady(FILE.read_text()) == steady(page(led)), "run make transcript"


def _check_what_is_left(checkout: Path, kept: Path) -> None:
    """All three branches, and the worktree of the agent that had not committed its file."""
    assert branches(checkout) == ["codex/fuzz", "codex/guide", "codex/parser", "main"]
    assert list(registrations(checkout)) == [str(checkout)]  # the repository knows nothing of the folders of agents
    assert git(checkout, "log", "--format=%s", "main..codex/parser") == "Skip empty lines"
    assert git(checkout, "show", "codex/guide:USAGE.md") == "Usage, also on Windows"
    assert git(checkout, "log", "--format=%s", "main..codex/fuzz") == ""
    assert (kept / "fuzz.py").read_text() == "import parser\n"
    assert git(checkout, "status", "--porcelain") == ""

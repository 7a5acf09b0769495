"""The programs of examples/ do what they say. A scripted model plays the agent that leads, and Codex's model."""

import shutil
import sys
from pathlib import Path

import pytest

from tests.support.clients.judges import NODE_MODULES, ROOT, Ended, first_python_sdk, frameworks, node, run
from tests.support.servers.mcp_server import Setup

EXAMPLES = ROOT / "examples"

LEADS = ["openai_agents", "pydantic_ai_agent", "google_adk", "langgraph_agent"]

TASKS = {
    "one": "Ask Codex which files are here.",
    "approval": "Let Codex write notes.",
    "long": "Let Codex work for a while.",
    "two": "Let two Codex agents work.",
}

SAID = {
    "one": ["apples.txt"],
    "approval": ["NOTES.md is written."],
    "long": ["I have worked for a while."],
    "two": ["The first agent is done.", "The second agent is done."],
}


async def example(setup: Setup, name: str, task: str, person: str = "y") -> Ended:
    setup.make()
    (setup.work / "apples.txt").write_text("three\n")
    program = EXAMPLES / name
    match name.partition(".")[0]:
        case "typescript_sdk":
            program = Path(shutil.copy(program, setup.home))
            (setup.home / "node_modules").symlink_to(NODE_MODULES)
            runner = node()
        case "langgraph_agent":
            runner = first_python_sdk()
        case _:
            runner = frameworks()
    words = [sys.executable, str(EXAMPLES / "scripted.py"), runner, str(program), task]
    return await run(words, setup, {"NO_PROXY": "127.0.0.1"}, f"{person}\n".encode())


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", [*(f"{lead}.py" for lead in LEADS), "python_sdk.py", "typescript_sdk.mjs"])
async def test_an_example_does_what_it_says(tmp_path: Path, name: str, task: str) -> None:
    setup = Setup(tmp_path)
    ended = await example(setup, name, TASKS[task] if name.partition(".")[0] in LEADS else task)
    assert ended.code == 0, ended.stderr
    for said in SAID[task]:
        assert said in ended.stdout, ended.stdout + ended.stderr
    assert (setup.work / "NOTES.md").exists() is (task == "approval")


async def test_what_the_person_declines_is_not_done(tmp_path: Path) -> None:
    setup = Setup(tmp_path)
    ended = await example(setup, "python_sdk.py", "approval", "n")
    assert ended.stdout.endswith("I may not write NOTES.md.\n"), ended.stderr
    assert not (setup.work / "NOTES.md").exists()

"""`codex-mcp demo` as a person sees it: the real program, at a real terminal or without one."""

import asyncio
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

from codex_cli_bin import bundled_codex_path

from codex_mcp.base.processes import marks
from tests.support.core.odd_codex import TESTED
from tests.support.dashboard.visitor import signed_in
from tests.support.servers.terminal import CTRL_C, Terminal

DEMO = [sys.executable, "-m", "codex_mcp", "demo"]
QUESTION = "say why:"
COLOUR = "\x1b["
CONTROLS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def environment(folder: Path, search_path: str | None = None) -> dict[str, str]:
    """Nothing of ours but PATH; the temporary folder is the test's."""
    return {"PATH": search_path or os.environ["PATH"], "HOME": str(folder), "TMPDIR": str(folder), "LANG": "C.UTF-8"}


def without_terminal(folder: Path, *flags: str, search_path: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*DEMO, *flags],
        env=environment(folder, search_path),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def processes_of(folder: Path) -> list[str]:
    """The processes of a demo whose temporary folder is in this one: each has it in its environment."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if str(folder).encode() in marks.environment(place.name):
                found.append((place / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue  # it has ended, or is somebody else's
    return found


def assert_nothing_left(folder: Path) -> None:
    assert processes_of(folder) == []
    assert list(folder.iterdir()) == []


def test_an_agent_fixes_the_test_on_an_executor_behind_a_rendezvous(tmp_path: Path) -> None:
    done = without_terminal(tmp_path, "--remote")

    assert (done.returncode, done.stderr) == (0, "")
    assert "relay+http://127.0.0.1:" in done.stdout
    assert_nothing_left(tmp_path)


def test_without_a_terminal_it_allows_the_patch_itself_and_the_test_passes(tmp_path: Path) -> None:
    done = without_terminal(tmp_path)

    assert (done.returncode, done.stderr) == (0, "")
    for text in [
        "The test in this repository fails.",
        "FAILED (failures=1)",
        "asks: Allow Codex to apply proposed code changes?",
        "-    return sum(prices[1:])",
        "+    return sum(prices)",
        "without asking you: there is no terminal to ask at",
        "The test passes now",
        "prices.py (update)",
        "ran the test itself: OK",
        "codex-mcp install claude",
    ]:
        assert text in done.stdout
    assert re.search(r"thread +[0-9a-f]{8}-", done.stdout)
    assert re.search(r"tokens +12,000 in \(9,000 cached\), 600 out", done.stdout)
    assert COLOUR not in done.stdout
    *talk, _how_to_go_on = done.stdout.rstrip().splitlines()
    assert [line for line in talk if len(line) > 80 or line != line.rstrip()] == []
    assert_nothing_left(tmp_path)


def test_a_person_who_says_yes_gets_a_test_that_passes(tmp_path: Path) -> None:
    with Terminal(DEMO, environment(tmp_path)) as terminal:
        terminal.wait_for(QUESTION)
        terminal.type("what?\n")
        terminal.wait_for("what?\r\n")
        terminal.shown = terminal.shown.rpartition("what?\r\n")[2]  # which may have the next question already
        terminal.wait_for(QUESTION)
        terminal.type("y\n")
        assert terminal.exit_code() == 0
    assert COLOUR in terminal.shown
    assert "The test passes now" in terminal.shown
    assert_nothing_left(tmp_path)


def test_a_person_who_says_no_gets_a_test_that_fails_and_exit_code_1(tmp_path: Path) -> None:
    with Terminal(DEMO, environment(tmp_path)) as terminal:
        terminal.wait_for(QUESTION)
        terminal.type("n\n")
        assert terminal.exit_code() == 1
    assert "prices.py`\x1b[0m is unchanged" in terminal.shown
    assert "You denied it, so the test still fails" in terminal.shown
    assert_nothing_left(tmp_path)


def test_what_is_typed_before_the_question_is_no_answer_and_a_reason_is_passed_on(tmp_path: Path) -> None:
    with Terminal(DEMO, environment(tmp_path)) as terminal:
        terminal.wait_for("codex-mcp demo")
        terminal.type("y\n")
        terminal.wait_for(QUESTION)
        terminal.type("d\n")
        terminal.wait_for("Why not?")
        terminal.type("I like it as it is\n")
        assert terminal.exit_code() == 1
    assert "The agent is told why: I like it as it is" in CONTROLS.sub("", terminal.shown)


def test_yes_asks_nobody_and_keep_keeps_the_folder(tmp_path: Path) -> None:
    with Terminal([*DEMO, "--yes", "--keep"], environment(tmp_path)) as terminal:
        assert terminal.exit_code() == 0
    assert QUESTION not in terminal.shown
    assert "--yes was given" in terminal.shown
    [folder] = (tmp_path / ".codex/codex-mcp/demos").iterdir()
    assert f"The folder is kept: {folder}" in terminal.shown
    changed = subprocess.run(
        ["git", "diff", "--name-only"], cwd=folder / "shop", check=True, capture_output=True, text=True
    )
    assert changed.stdout == "prices.py\n"
    assert processes_of(tmp_path) == []


async def test_a_team_works_and_one_agent_asks_on_the_page_that_is_printed(tmp_path: Path) -> None:
    with Terminal([*DEMO, "--team"], environment(tmp_path)) as terminal:
        await asyncio.to_thread(terminal.wait_for, "Ctrl-C ends the agents")
        you = await signed_in(terminal.shown)
        await you.until("/ui/needs-you.json", "1 agent needs you.")
        await you.until("/ui/mail.json", "1 message for you.")
        (item,) = (await you.told("/ui/needs-you.json"))["items"]
        assert (item["name"], item["text"]) == ("api", "git push origin HEAD")
        fleet = await you.told("/ui/fleet.json")
        rows = {row["name"]: row for section in fleet["sections"] for row in section["rows"]}
        assert {row["branch"] for row in rows.values()} == {"codex/api", "codex/docs", "codex/review"}
        assert (await you.answer(item["href"], decision="denied")).status == 303
        await you.until("/ui/needs-you.json", "Nobody needs you.")
        terminal.type(CTRL_C)
        assert await asyncio.to_thread(terminal.exit_code) == 0
    assert_nothing_left(tmp_path)


def test_ctrl_c_at_the_question_ends_everything(tmp_path: Path) -> None:
    with Terminal(DEMO, environment(tmp_path)) as terminal:
        terminal.wait_for(QUESTION)
        assert any("app-server" in line for line in processes_of(tmp_path))
        terminal.type(CTRL_C)
        assert terminal.exit_code() == 128 + signal.SIGINT
    assert "Interrupted. Nothing is left running." in terminal.shown
    assert "KeyboardInterrupt" not in terminal.shown
    assert_nothing_left(tmp_path)


def test_a_signal_in_the_middle_of_the_turn_ends_everything(tmp_path: Path) -> None:
    with Terminal(DEMO, environment(tmp_path)) as terminal:
        terminal.wait_for("thinks")
        os.kill(terminal.pid, signal.SIGTERM)
        assert terminal.exit_code() == 128 + signal.SIGINT
    assert "KeyboardInterrupt" not in terminal.shown
    assert_nothing_left(tmp_path)


def test_where_the_sandbox_cannot_work_it_says_so_and_asks_before_every_command(tmp_path: Path) -> None:
    programs, temporary = tmp_path / "bin", tmp_path / "temporary"
    programs.mkdir()
    temporary.mkdir()
    # The real Codex, on a machine where its sandbox does not work. It needs no trial, whatever version runs the tests.
    codex = programs / "codex"
    codex.write_text(
        "#!/bin/sh\n"
        f'[ "$1" = --version ] && {{ echo codex-cli {TESTED}; exit; }}\n'
        '[ "$1" = sandbox ] && { echo "bwrap: No permissions" >&2; exit 1; }\n'
        f'exec "{bundled_codex_path()}" "$@"\n'
    )
    codex.chmod(0o755)

    done = without_terminal(temporary, search_path=f"{programs}:{os.environ['PATH']}")

    assert done.returncode == 0, done.stdout + done.stderr
    words = " ".join(done.stdout.split())
    assert "The sandbox does not work on this machine (bwrap: No permissions), so commands run without one" in words
    assert words.count("asks: Allow Codex to run") == 3
    assert words.count("asks: Allow Codex to apply proposed code changes?") == 1
    assert_nothing_left(temporary)

"""A Codex that is unfit in one respect fails the check that is about it, and no other."""

import asyncio
import os
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from codex_mcp.base.settings.core import CoreSettings
from codex_mcp.base.tasks import spawn
from codex_mcp.cli.doctor.self_test import FIRST, SECOND, Replaced, run_self_test, try_codex
from codex_mcp.codex.binary import Binary, find_codex
from codex_mcp.codex.versions.verdicts import record, trying_alone, verdict_on
from tests.support.core.odd_codex import odd_codex
from tests.support.mail.folders import until

HABITS = {
    "describes nothing": ("schema", "it does not describe its protocol"),
    "describes too deeply": ("schema", "the description of its protocol cannot be read"),
    "describes without end": ("schema", "the description of its protocol cannot be read: it is longer than "),
    "lacks a method": ("schema", "it has no method turn/steer"),
    "dies": ("turn", "an agent did not answer"),
    "asks nobody": ("approval", "was not asked about once"),
    "heeds no approval": ("approval", "a command that was approved did not run"),
    "obeys no refusal": ("approval", "a command that was declined ran"),
    "confines nothing": ("sandbox", "wrote outside of its folder"),
    "confines too much": ("sandbox", "could not write in its folder"),
    "cannot be steered": ("steer", "could not be steered"),
    "ignores the provider": ("provider", "could not choose its model provider"),
    "trusts everyone": ("trust", "it obeyed the settings of a repository"),
    "forgets": ("resume", "could not be continued"),
    "loses the past": ("resume", "had lost its past"),
    "dies after each turn": ("survival", "it ended by itself"),
    "calls home at once": ("outside", "it wanted to reach home.example:443"),
    "calls home": ("outside", "it wanted to reach home.example:443"),
}


def found(path: Path, home: Path) -> Binary:
    return find_codex(CoreSettings(codex_home=str(home), codex_bin=str(path), allow_untested_codex=True), "")


@pytest.mark.parametrize("habit", HABITS)
def test_a_codex_with_a_bad_habit_fails_the_check_that_is_about_it(tmp_path: Path, habit: str) -> None:
    check, why = HABITS[habit]
    failed, said = run_self_test(found(odd_codex(tmp_path / "bin", habit), tmp_path), str(tmp_path), os.environ)
    assert (failed, why in said, "codex-reply" in said) == (check, True, False), said


def test_every_check_is_failed_by_a_habit() -> None:
    assert {check.__name__ for check in (*FIRST, *SECOND)} | {"schema"} == {check for check, _ in HABITS.values()}


def test_while_it_describes_its_protocol_it_has_the_home_and_the_folder_of_the_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = found(odd_codex(tmp_path / "bin", "makes itself at home"), tmp_path)
    user = tmp_path / "user"
    user.mkdir()
    monkeypatch.chdir(user)
    assert run_self_test(odd, str(tmp_path), {**os.environ, "HOME": str(user)}) == ("", "")
    assert not list(user.iterdir())


def test_a_codex_that_hangs_is_given_up(tmp_path: Path) -> None:
    hanging = found(odd_codex(tmp_path / "bin", "hangs"), tmp_path)
    failed, said = run_self_test(hanging, str(tmp_path), os.environ, patience=5)
    assert failed in ("start", "turn")  # on a busy machine our own server may take all of the time
    assert said == "there was no answer within 5 s"


def test_an_unknown_codex_that_is_fit_passes_once_for_every_copy_of_it(tmp_path: Path) -> None:
    path = odd_codex(tmp_path / "bin")
    verdict = try_codex(found(path, tmp_path), str(tmp_path), os.environ)
    assert verdict.is_fit, verdict
    assert verdict_on(str(path), str(tmp_path)) == verdict
    copy = odd_codex(tmp_path / "copy")
    again = try_codex(found(copy, tmp_path), str(tmp_path), {})  # without PATH nothing could be tried
    assert again.is_fit
    assert again.identity.path == str(copy)


def stub(folder: Path, when_tried: str) -> Path:
    """A program that answers `--version`, and does this when it is asked for its protocol."""
    path = folder / "codex"
    path.write_text(f"#!/bin/sh\n[ $1 = --version ] || {when_tried}\necho codex-cli 9.9.9\n")
    path.chmod(0o755)
    return path


def test_one_that_has_failed_is_tried_again_on_request(tmp_path: Path) -> None:
    path = stub(tmp_path, f"echo tried >> {tmp_path}/tries")
    for _ in range(2):
        assert try_codex(found(path, tmp_path), str(tmp_path), os.environ).failed == "schema"
    assert (tmp_path / "tries").read_text() == "tried\n" * 2


async def test_one_that_another_process_tries_meanwhile_is_not_tried_again(tmp_path: Path) -> None:
    path = stub(tmp_path, f"touch {tmp_path}/tried")
    verdict = await asyncio.to_thread(try_codex, found(path, tmp_path), str(tmp_path), os.environ)
    (tmp_path / "tried").unlink()
    with trying_alone(str(tmp_path), 1.0):
        second = asyncio.to_thread(try_codex, found(path, tmp_path), str(tmp_path), os.environ)
        waiting = spawn(second, name="the second trial")
        await until(lambda: opened_here("tried-codex.lock") == len(["this test", "the thread"]))
        record(replace(verdict, failed="steer"), str(tmp_path))
    assert (await waiting).failed == "steer"
    assert not (tmp_path / "tried").exists()


def opened_here(name: str) -> int:
    """How many descriptors of this process are of a file with this name."""
    links = Path("/proc/self/fd").iterdir()
    return sum(os.path.basename(os.readlink(link)) == name for link in links if link.is_symlink())


async def test_one_that_hangs_ends_with_a_doctor_that_is_killed(tmp_path: Path) -> None:
    path = stub(tmp_path, f"{{ echo $$ > {tmp_path}/pid.new; mv {tmp_path}/pid.new {tmp_path}/pid; exec sleep 1000; }}")
    argv = [sys.executable, "-m", "codex_mcp", "doctor", "--self-test", "--codex-bin", str(path)]
    doctor = await asyncio.create_subprocess_exec(*argv, "--codex-home", str(tmp_path))
    await until((tmp_path / "pid").exists)
    hanging = int((tmp_path / "pid").read_text())
    doctor.kill()
    await doctor.wait()
    await until(lambda: not is_running(hanging))


def is_running(pid: int) -> bool:
    """Whether it has neither ended nor is about to be awaited."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_one_that_is_replaced_while_it_is_tried_gets_no_verdict(tmp_path: Path) -> None:
    path = stub(tmp_path, f"touch {tmp_path}/codex")
    with pytest.raises(Replaced, match=f"cannot try {path}: it was replaced meanwhile; try it again"):
        try_codex(found(path, tmp_path), str(tmp_path), os.environ)
    assert verdict_on(str(path), str(tmp_path)) is None

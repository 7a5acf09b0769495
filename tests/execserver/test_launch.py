import os
import signal
from pathlib import Path

import pytest

from codex_mcp.execserver.launch import Child, ProcessSpec, launch, login_entry, set_size

ENV = {"PATH": "/usr/bin:/bin"}


def finish(child: Child) -> tuple[str, int]:
    """All that it says, and its exit code."""
    os.set_blocking(child.stdout, True)
    said = b""
    try:
        while data := os.read(child.stdout, 65536):
            said += data
    except OSError:
        pass  # a terminal ends in this way
    _, status = os.waitpid(child.pid, 0)
    for fd in (child.stdin, child.stdout, child.stderr, child.pidfd):
        if fd is not None:
            os.close(fd)
    return said.decode(), os.waitstatus_to_exitcode(status)


def shell(script: str, **more: object) -> tuple[str, int]:
    return finish(launch(ProcessSpec(["/bin/sh", "-c", script], "/usr", ENV, **more)))  # type: ignore[arg-type]


def test_a_child_runs_in_its_folder_as_leader_of_its_session() -> None:
    said, code = shell("pwd; ps -o pid=,pgid=,sid= -p $$; exit 3")
    folder, numbers = said.splitlines()
    assert (folder, code) == ("/usr", 3)
    assert len(set(numbers.split())) == 1


def test_the_server_stays_at_the_root() -> None:
    shell("true")
    assert os.getcwd() == "/"


def test_a_child_ignores_no_signal_because_we_do() -> None:
    said, _ = shell("grep SigIgn /proc/self/status")
    assert int(said.split()[1], 16) & (1 << (signal.SIGPIPE - 1)) == 0


def test_a_terminal_is_the_controlling_one() -> None:
    said, code = shell("tty; stty size; ps -o tty= -p $$; exit 4", tty=True)
    name, size, controlling = said.split("\r\n")[:3]
    assert name == f"/dev/{controlling.strip()}"
    assert (size, code) == ("24 80", 4)


def test_a_terminal_can_be_resized() -> None:
    child = launch(ProcessSpec(["/bin/sh", "-c", "read x; stty size"], "/", ENV, tty=True))
    assert child.stdin is not None
    set_size(child.stdout, 30, 100)
    os.write(child.stdin, b"\n")
    assert finish(child)[0].endswith("30 100\r\n")


def test_a_child_may_read_from_a_pipe_or_from_a_descriptor(tmp_path: Path) -> None:
    child = launch(ProcessSpec(["cat"], "/", ENV, pipe_stdin=True))
    assert child.stdin is not None
    os.write(child.stdin, b"hi")
    os.close(child.stdin)
    assert finish(Child(child.pid, child.pidfd, None, child.stdout, child.stderr)) == ("hi", 0)
    (tmp_path / "file").write_text("from a file")
    with (tmp_path / "file").open() as file:
        assert finish(launch(ProcessSpec(["cat"], "/", ENV, stdin=file.fileno()))) == ("from a file", 0)


def test_descriptors_are_handed_down_on_request_only(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("secret")
    with (tmp_path / "file").open() as file:
        look = ["/bin/sh", "-c", f"cat /proc/self/fd/{file.fileno()} 2>/dev/null"]
        assert finish(launch(ProcessSpec(look, "/", ENV)))[0] == ""
        assert finish(launch(ProcessSpec(look, "/", ENV, pass_fds=[file.fileno()])))[0] == "secret"


@pytest.mark.parametrize(
    ("what", "error"),
    [
        (ProcessSpec(["/nonexistent"], "/", ENV), FileNotFoundError),
        (ProcessSpec(["nonexistent"], "/", ENV), FileNotFoundError),
        (ProcessSpec(["/etc/passwd"], "/", ENV), PermissionError),
        (ProcessSpec(["passwd"], "/", {"PATH": "/etc"}), PermissionError),
        (ProcessSpec(["true"], "/nonexistent", ENV), FileNotFoundError),
        (ProcessSpec(["/nonexistent"], "/", ENV, tty=True), FileNotFoundError),
        (ProcessSpec(["true", "a\0b"], "/", ENV), ValueError),
    ],
)
def test_what_cannot_start_says_why_and_leaves_nothing(what: ProcessSpec, error: type[Exception]) -> None:
    with pytest.raises(error):
        launch(what)


def test_on_a_terminal_a_missing_folder_is_the_home(tmp_path: Path) -> None:
    pwd = ProcessSpec(["pwd"], "/nonexistent", {**ENV, "HOME": str(tmp_path)}, tty=True)
    assert finish(launch(pwd))[0] == f"{tmp_path}\r\n"
    nowhere = ProcessSpec(["pwd"], "/nonexistent", {**ENV, "HOME": "/nonexistent"}, tty=True)
    assert finish(launch(nowhere))[0] == "/\r\n"


def test_the_name_and_the_program_may_differ() -> None:
    assert finish(launch(ProcessSpec(["/bin/bash", "-c", "echo $0"], "/", ENV, arg0="name")))[0] == "name\n"
    assert finish(launch(ProcessSpec(["/bin/sh", "-c", "x"], "/", ENV, arg0="/bin/echo", tty=True)))[0] == "-c x\r\n"


def test_there_is_always_a_login() -> None:
    assert login_entry().pw_uid == os.getuid()


def test_a_program_can_have_an_empty_name() -> None:
    script = "echo [$0] $1; env; grep -E 'SigIgn|SigBlk' /proc/self/status"
    named = finish(launch(ProcessSpec(["/bin/sh", "-c", script, "name", "one"], "/usr", ENV, "sh")))
    nameless = finish(launch(ProcessSpec(["sh", "-c", script, "name", "one"], "/usr", ENV, "")))
    assert nameless == named
    said, code = finish(launch(ProcessSpec(["/bin/sh", "-c", "echo [$0]; exit 3"], "/usr", ENV, "")))
    assert (said, code) == ("[]\n", 3)


def test_an_empty_name_hides_no_error(tmp_path: Path) -> None:
    (tmp_path / "text").touch(0o600)
    for program, error in (("/nowhere", FileNotFoundError), (str(tmp_path / "text"), PermissionError)):
        with pytest.raises(error):
            launch(ProcessSpec([program], "/", ENV, ""))


def test_on_a_terminal_the_name_is_the_program_and_an_empty_one_is_not_found() -> None:
    with pytest.raises(OSError, match="Permission denied"):  # the folders of PATH themselves
        launch(ProcessSpec(["/bin/sh"], "/", ENV, "", tty=True))

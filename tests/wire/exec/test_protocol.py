import msgspec

from codex_mcp.wire.exec.protocol import (
    Capabilities,
    Chunk,
    EnvironmentInfo,
    Initialize,
    Initialized,
    OutputStream,
    ProcessClosed,
    ProcessExited,
    ProcessOutput,
    ProcessRead,
    ProcessStarted,
    ReadProcess,
    Shell,
    StartProcess,
)


def wire(value: object) -> object:
    return msgspec.json.decode(msgspec.json.encode(value))


def test_what_a_request_leaves_open_is_left_out() -> None:
    assert wire(Initialize("me")) == {"clientName": "me"}
    assert wire(ReadProcess("p", wait_ms=5)) == {"processId": "p", "waitMs": 5}
    assert wire(StartProcess("p", ["true"], "file:///", {}, tty=False)) == {
        "processId": "p",
        "argv": ["true"],
        "cwd": "file:///",
        "env": {},
        "tty": False,
    }


def test_answers_and_notifications_say_everything() -> None:
    assert wire(ProcessStarted("p")) == {"processId": "p", "sandboxType": "none"}
    assert wire(ProcessRead([Chunk(1, OutputStream.PTY, b"hi")], 2, exited=False, exit_code=None, closed=False)) == {
        "chunks": [{"seq": 1, "stream": "pty", "chunk": "aGk="}],
        "nextSeq": 2,
        "exited": False,
        "exitCode": None,
        "closed": False,
        "failure": None,
        "sandboxDenied": False,
    }
    assert wire(ProcessOutput("p", 1, OutputStream.STDOUT, b"hi")) == {
        "processId": "p",
        "seq": 1,
        "stream": "stdout",
        "chunk": "aGk=",
    }
    assert wire(ProcessExited("p", 2, 3)) == {"processId": "p", "seq": 2, "exitCode": 3, "sandboxDenied": False}
    assert wire(ProcessClosed("p", 3)) == {"processId": "p", "seq": 3}


def test_only_what_a_machine_can_do_is_announced() -> None:
    info = EnvironmentInfo(Shell("sh", "/bin/sh"), capabilities=Capabilities(process_resize=True))
    assert wire(Initialized("s", info)) == {
        "sessionId": "s",
        "environmentInfo": {"shell": {"name": "sh", "path": "/bin/sh"}, "capabilities": {"processResize": True}},
    }


def test_an_executor_may_leave_its_environment_out() -> None:
    assert msgspec.json.decode(b'{"sessionId": "s"}', type=Initialized) == Initialized("s")

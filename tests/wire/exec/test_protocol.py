import msgspec

from codex_mcp.wire.exec import files as fs
from codex_mcp.wire.exec.http import BodyDelta, HttpHeader, HttpRequest, HttpResponse, RedirectPolicy
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


def test_a_request_needs_three_things_only() -> None:
    asked = msgspec.json.decode(b'{"method": "GET", "url": "http://x", "requestId": "r", "new": 1}', type=HttpRequest)
    assert asked == HttpRequest("GET", "http://x", "r")
    assert asked.redirect_policy is RedirectPolicy.FOLLOW


def test_answers_are_written_in_full() -> None:
    response = HttpResponse(200, [HttpHeader("a", "b")], "")
    assert msgspec.json.encode(response) == b'{"status":200,"headers":[{"name":"a","value":"b"}],"bodyBase64":""}'
    delta = BodyDelta("r", 2, "", done=True, error=None)
    wanted = b'{"requestId":"r","seq":2,"deltaBase64":"","done":true,"error":null}'
    assert msgspec.json.encode(delta) == wanted


def test_what_a_file_request_leaves_open_is_left_out() -> None:
    assert msgspec.json.decode(msgspec.json.encode(fs.Remove("file:///x"))) == {"path": "file:///x"}
    assert msgspec.json.decode(msgspec.json.encode(fs.OpenFile("h", "file:///x"))) == {
        "handleId": "h",
        "path": "file:///x",
    }


def test_bytes_of_answers_travel_as_base64() -> None:
    assert msgspec.json.encode(fs.FileRead(b"hi")) == b'{"dataBase64":"aGk="}'
    assert msgspec.json.decode(b'{"chunk": "aGk=", "eof": true}', type=fs.BlockRead) == fs.BlockRead(b"hi", eof=True)


def test_the_words_of_a_walk_are_those_of_the_wire() -> None:
    options = {"maxDepth": 1, "maxDirectories": 2, "maxEntries": 3, "followDirectorySymlinks": False}
    asked = msgspec.convert({"path": "file:///x", "options": options}, fs.Walk)
    assert asked.options == fs.WalkOptions(1, 2, 3, follow_directory_symlinks=False)
    assert msgspec.to_builtins(fs.WalkEntry("file:///x/y", fs.WalkKind.FILE)) == {"path": "file:///x/y", "kind": "file"}

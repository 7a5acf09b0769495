import msgspec

from codex_mcp.wire.exec import files as fs


def test_what_a_request_leaves_open_is_left_out() -> None:
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

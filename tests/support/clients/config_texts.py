"""Random valid configuration files, as people and programs write them: comments, odd order, line ends."""

import json
import random
from typing import Any

from hypothesis import strategies as st

from codex_mcp.cli.clients.config_text.documents import Format
from codex_mcp.cli.clients.known import Place

NAMES = ["context7", "github", "Über", 'a "b"', "with.dot", "x-y_z", "// no", "{[", "#"]
WORDS = ["", "npx", "-y", "a b", "/* no */", "}", '"', "\\", "ü€😀", "# no", "http://127.0.0.1:1/mcp", "'''", '"""']
COMMENTS = ["hi", "{", "it's", '"', "[mcp_servers.codex]", "ü", "*"]


def server(rng: random.Random) -> dict[str, Any]:
    """An entry of another server."""
    entry: dict[str, Any] = {"command": rng.choice(WORDS), "args": [rng.choice(WORDS) for _ in range(rng.randrange(3))]}
    if rng.random() < 0.4:
        entry["env"] = {"TOKEN": rng.choice(WORDS)}
    if rng.random() < 0.2:
        entry["disabled"] = rng.choice([True, False])
    return entry


def values_around(rng: random.Random, holder: tuple[str, ...]) -> dict[str, Any]:
    """What a file may say, perhaps with the object that holds servers, perhaps with servers in it."""
    fields: list[tuple[str, Any]] = [(name, scalar(rng)) for name in rng.sample(NAMES, rng.randrange(4))]
    if rng.random() < 0.7:
        inner: Any = {name: server(rng) for name in rng.sample(NAMES, rng.randrange(4))}
        for key in reversed(holder[1:]):
            inner = {key: inner} if rng.random() < 0.8 else {}
        fields.append((holder[0], inner))
    rng.shuffle(fields)
    return dict(fields)


def scalar(rng: random.Random) -> Any:
    """A simple value that both formats have."""
    return rng.choice([1, -2.5, True, False, "text", rng.choice(WORDS), [1, 2], ["a", "b"], {"inner": "x"}])


class JsonWriter:
    """Writes a value in one of many layouts."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.newline = rng.choice(["\n", "\r\n"])
        self.unit = rng.choice(["  ", "    ", "\t", ""])
        self.is_one_line = rng.random() < 0.2
        self.is_tidy = rng.random() < 0.5
        self.has_comments = rng.random() < 0.5
        self.comma_at_end = rng.random() < 0.3

    def gap(self, depth: int) -> str:
        """White space and comments between two tokens."""
        if self.is_one_line:
            return self.rng.choice(["", " "])
        gaps = ["", " ", self.newline + self.unit * depth]
        if self.has_comments:
            comment = self.rng.choice(COMMENTS)
            gaps += [f" /* {comment} */", f" // {comment}{self.newline}", f"/*{self.newline}{comment}*/"]
        return self.rng.choice(gaps)

    def line(self, depth: int) -> str:
        """The start of a member."""
        if self.is_tidy and not self.is_one_line:
            comment = f" // {self.rng.choice(COMMENTS)}" if self.has_comments and self.rng.random() < 0.3 else ""
            return comment + self.newline + self.unit * depth
        return self.gap(depth)

    def between(self, depth: int) -> str:
        """Inside of a member."""
        return "" if self.is_tidy else self.gap(depth)

    def write(self, value: Any, depth: int = 0) -> str:
        """The text of a value."""
        if isinstance(value, dict):
            items = [
                f"{json.dumps(key, ensure_ascii=self.rng.random() < 0.5)}{self.between(depth)}:{self.between(depth)} "
                f"{self.write(inner, depth + 1)}"
                for key, inner in value.items()
            ]
            return self._joined("{", items, "}", depth)
        if isinstance(value, list):
            return self._joined("[", [self.write(inner, depth + 1) for inner in value], "]", depth)
        return json.dumps(value, ensure_ascii=False)

    def _joined(self, opening: str, items: list[str], closing: str, depth: int) -> str:
        text = opening
        for number, item in enumerate(items):
            text += self.line(depth + 1) + item + self.between(depth)
            if number + 1 < len(items) or self.comma_at_end:
                text += ","
        return text + self.line(depth) + closing


def json_file(rng: random.Random, holder: tuple[str, ...]) -> bytes:
    """A file of a client that reads JSON."""
    if rng.random() < 0.05:
        return rng.choice([b"", b"\n", b"{}", b"{}\n", b"// nothing yet\n", b"// nothing yet\r\n", b"{\r\n}\r\n"])
    writer = JsonWriter(rng)
    mark = "\ufeff" if rng.random() < 0.2 else ""
    text = writer.gap(0) + writer.write(values_around(rng, holder)) + writer.gap(0) + rng.choice(["", writer.newline])
    return (mark + text).encode()


def _toml_value(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {_toml_value(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml_value, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def toml_file(rng: random.Random, holder: tuple[str, ...]) -> bytes:
    """A file of a client that reads TOML: tables, dotted keys and inline tables, in any order."""
    newline = rng.choice(["\n", "\r\n"])
    key = holder[0]
    names = rng.sample(NAMES, rng.randrange(4))
    top = [f"top{number} = {_toml_value(scalar(rng))}" for number in range(rng.randrange(3))]
    tables: list[list[str]] = [[f"[table{n}]", f"x = {_toml_value(scalar(rng))}"] for n in range(rng.randrange(3))]
    tables += [["[[list]]", "x = 1", "[list.codex]", 'command = "y"']] if rng.random() < 0.3 else []
    match rng.randrange(4):
        case 0:
            top.append(f"{key} = {_toml_value({name: server(rng) for name in names})}")
        case 1:
            tables.append([f"[{key}]", *(f"{json.dumps(name)} = {_toml_value(server(rng))}" for name in names)])
        case 2:
            fields = [(name, field, value) for name in names for field, value in server(rng).items()]
            lines = [f"{json.dumps(name)}.{field} = {_toml_value(value)}" for name, field, value in fields]
            top += [f"{key}.{line}" for line in lines]
        case 3:
            for name in names:
                assignments = [f"{field} = {_toml_value(value)}" for field, value in server(rng).items()]
                tables.append([f"[{key}.{json.dumps(name)}]", *assignments])
    rng.shuffle(tables)
    if rng.random() < 0.5:
        top.append(f'text = """{newline}[{key}.codex]{newline}command = "no"{newline}"""')
    lines = [*top, *(line for table in tables for line in ["", *_commented(rng, table)])]
    mark = "\ufeff" if rng.random() < 0.2 else ""
    return (mark + newline.join(lines) + rng.choice(["", newline, newline * 2])).encode()


def _commented(rng: random.Random, lines: list[str]) -> list[str]:
    """The lines with comments above, behind and below them, and with indentation."""
    indent = rng.choice(["", "", "  ", "\t"])
    written: list[str] = []
    for line in lines:
        if rng.random() < 0.3:
            written.append(f"# {rng.choice(COMMENTS)}")
        written.append(indent + line + (f" # {rng.choice(COMMENTS)}" if rng.random() < 0.3 else ""))
    return [*written, *([f"# {rng.choice(COMMENTS)}"] if rng.random() < 0.3 else [])]


def file_of(rng: random.Random, place: Place) -> bytes:
    """A file that this client may have."""
    write = toml_file if place.client.form is Format.TOML else json_file
    return write(rng, place.path)


randoms = st.integers(0, 2**32).map(random.Random)


def is_only_added_to(before: bytes, after: bytes) -> bool:
    """Whether nothing was lost or moved: some text was added at one place, and perhaps a comma before it."""
    start = 0
    while start < min(len(before), len(after)) and before[start] == after[start]:
        start += 1
    end = 0
    while end < min(len(before), len(after)) - start and before[-1 - end] == after[-1 - end]:
        end += 1
    kept = before[start : len(before) - end]
    return kept.strip() in after[start : len(after) - end]

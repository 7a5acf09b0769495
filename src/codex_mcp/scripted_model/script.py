"""Pure. A script: named scenes, each a list of steps, read from TOML.

A scene's parameters are placeholders such as `{cmd}` in its steps. Every step is checked with the defaults when the
script is read, and filled with the actual values when it is played.
"""

import re
import tomllib
from collections.abc import Mapping
from typing import TypeVar

import msgspec

from codex_mcp.scripted_model.steps import (
    Fail,
    Many,
    Say,
    ScriptError,
    Step,
    Stream,
    Think,
    check_keys,
    check_pattern,
    check_usage,
    field_error,
    parse_step,
)

DEFAULT_MODEL = "gpt-5.5"
"""The newest model for which Codex uses plain tools (`exec_command`, freeform `apply_patch`) and not code mode."""

BUILT_IN = ("prompt", "output", "thread", "nth", "model")
"""Placeholders for every step, filled from the request."""

Table = TypeVar("Table", bound=msgspec.Struct)

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_PARAMETER_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class SceneTable(msgspec.Struct, frozen=True):
    steps: list[object]
    about: str = ""
    when: str | None = None
    when_regex: str | None = None
    message: int | None = None
    opened_with: str | None = None
    thread: str | None = None
    parameters: dict[str, str | int | float | bool] = {}
    usage: dict[str, Many] = {}
    headers: dict[str, str] = {}
    """Of its responses, for example a rate limit."""


class ScriptTable(msgspec.Struct, frozen=True):
    scenes: dict[str, dict[str, object]]
    about: str = ""
    default: str | None = None
    model: str = DEFAULT_MODEL
    usage: dict[str, Many] = {}


class Scene(msgspec.Struct, frozen=True):
    """What the model does for a kind of prompt."""

    name: str
    source: str
    table: SceneTable
    parameters: Mapping[str, str]

    @property
    def has_condition(self) -> bool:
        """Whether a prompt can select this scene without naming it."""
        table = self.table
        return any(
            x is not None for x in (table.when, table.when_regex, table.message, table.opened_with, table.thread)
        )

    def step(self, index: int, values: Mapping[str, str]) -> Step:
        """The step at `index` (from 0) with its placeholders filled. Raises ScriptError."""
        where = f"step {index + 1} of scene {self.name!r} in {self.source}"
        return parse_step(fill(self.table.steps[index], values), where)


class Script(msgspec.Struct, frozen=True):
    name: str
    model: str
    default: str
    scenes: Mapping[str, Scene]
    usage: Mapping[str, int]


def parse_script(text: str, name: str) -> Script:
    """Read a script. Error texts call it `name`. Raises ScriptError."""
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as exc:
        raise ScriptError(f"cannot read {name}: not TOML: {exc}") from exc
    table = _convert(raw, ScriptTable, name)
    check_usage(table.usage, name)
    if not table.scenes:
        raise ScriptError(f"cannot use {name}: it has no scene; add [scenes.NAME] with steps")
    scenes = {key: _scene(key, value, name) for key, value in table.scenes.items()}
    return Script(name, table.model, _default(table, name), scenes, table.usage)


def fill(value: object, values: Mapping[str, str]) -> object:
    """Replace `{name}` by its value wherever `name` is known; other braces stay as they are."""
    match value:
        case str():
            return _PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), value)
        case list():
            return [fill(item, values) for item in value]
        case dict():
            return {key: fill(item, values) for key, item in value.items()}
        case _:
            return value


def _default(table: ScriptTable, name: str) -> str:
    default = table.default
    if default is None:
        return "default" if "default" in table.scenes else next(iter(table.scenes))
    if default not in table.scenes:
        raise ScriptError(
            f"cannot use {name}: there is no default scene {default!r}; scenes: {', '.join(table.scenes)}"
        )
    return default


def _scene(key: str, raw: dict[str, object], source: str) -> Scene:
    where = f"scene {key!r} in {source}"
    if not _NAME.fullmatch(key):
        raise ScriptError(f"cannot use {where}: a name consists of letters, digits, - and _")
    table = _convert(raw, SceneTable, where)
    check_usage(table.usage, where)
    check_pattern(table.when_regex, "when_regex", where)
    for parameter in table.parameters:
        if not _PARAMETER_NAME.fullmatch(parameter) or parameter in BUILT_IN:
            raise ScriptError(f"cannot use {where}: {parameter!r} cannot be the name of a parameter")
    if not table.steps:
        raise ScriptError(f"cannot use {where}: it has no steps")
    scene = Scene(key, source, table, {name: _text(value) for name, value in table.parameters.items()})
    _check_steps(scene, where)
    return scene


def _check_steps(scene: Scene, where: str) -> None:
    values = {**dict.fromkeys(BUILT_IN, ""), **scene.parameters}
    before: Step | None = None
    for index in range(len(scene.table.steps)):
        step = scene.step(index, values)
        if isinstance(step, Fail) and isinstance(before, Say | Stream | Think):
            raise ScriptError(
                f"cannot use step {index + 1} of {where}: 'fail' is an HTTP status and must come first in a response;"
                " use 'error' or 'disconnect' after a text"
            )
        before = step


def _convert(raw: dict[str, object], kind: type[Table], where: str) -> Table:
    check_keys(raw, kind.__struct_fields__, where)
    try:
        return msgspec.convert(raw, kind)
    except msgspec.ValidationError as exc:
        raise ScriptError(f"cannot use {where}: {field_error(exc)}") from exc


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)

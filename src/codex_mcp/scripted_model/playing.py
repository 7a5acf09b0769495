"""Pure. Which scene answers a request, and which of its steps belong to this response.

    the newest message has [[scene: NAME]]      -> that scene, with the marker's parameters
    otherwise: scenes in the order of the file  -> the first one whose conditions all hold
    otherwise                                   -> the script's default scene

A response runs from the first unfinished step to the next one that needs an answer (a tool call) or ends it (a failure,
or `end`), including both. Without such a step it runs to the end of the scene, which ends the turn.
"""

import re
from collections.abc import Callable, Mapping

from msgspec import Struct

from codex_mcp.scripted_model.request import ModelRequest
from codex_mcp.scripted_model.script import Scene, Script
from codex_mcp.scripted_model.steps import (
    Call,
    Disconnect,
    Error,
    Fail,
    Patch,
    Plan,
    Run,
    Say,
    ScriptError,
    Search,
    Step,
    Stream,
    Think,
)

DEFAULT_USAGE: Mapping[str, int] = {"input": 100, "cached": 0, "output": 20, "reasoning": 0}
"""Tokens of a response without `usage`: small, but not zero, so that sums are visible."""

CALLS = (Run, Patch, Plan, Call)
FAILURES = (Fail, Error, Disconnect)
TEXTS = (Say, Stream, Think, Search)

SHOWN_OUTPUT = 500
"""Characters of an unexpected output that the model quotes: enough to see what went wrong."""

_MARKER = re.compile(r"\[\[scene:(?P<inside>.*?)\]\]", re.DOTALL)
_INSIDE = re.compile(r"\s*(?P<name>[A-Za-z_][A-Za-z0-9_-]*)\s*(?P<rest>.*)", re.DOTALL)
_PARAMETER = re.compile(
    r'\s*(?P<key>[A-Za-z_][A-Za-z0-9_]*)=(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<bare>[^\s"]+))', re.DOTALL
)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t"}


class Choice(Struct, frozen=True):
    scene: Scene
    values: Mapping[str, str]


class Beat(Struct, frozen=True):
    """One step of this response; `index` is its place in the scene, from 0."""

    index: int
    step: Step


class Response(Struct, frozen=True):
    scene: str
    beats: tuple[Beat, ...]
    usage: Mapping[str, int]
    headers: Mapping[str, str] = {}


def play(script: Script, request: ModelRequest, times_failed: Callable[[str, int], int]) -> Response:
    """Decide the response. `times_failed(scene, index)` is how often that step has already failed for this message.

    Raises ScriptError.
    """
    choice = choose(script, request)
    values = dict(choice.values)
    beats: list[Beat] = []
    for index in range(request.done, len(choice.scene.table.steps)):
        step = choice.scene.step(index, values)
        captured = _conditions(step, request.output)
        if captured is None:
            continue
        if captured:
            values |= captured
            step = choice.scene.step(index, values)
        if isinstance(step, FAILURES) and 0 < step.times <= times_failed(choice.scene.name, index):
            continue
        unexpected = _unexpected(step, request.output)
        beats.append(Beat(index, unexpected or step))
        if unexpected or step.end or isinstance(step, CALLS + FAILURES):
            break
    _check_order(beats, choice.scene)
    return Response(choice.scene.name, tuple(beats), _usage(script, choice.scene, beats), choice.scene.table.headers)


def choose(script: Script, request: ModelRequest) -> Choice:
    """Find the scene of a request. Raises ScriptError."""
    prompt, marker = _split(request.prompt)
    built_in = {
        "prompt": prompt,
        "output": request.output,
        "thread": request.thread,
        "nth": str(request.message),
        "model": request.model,
    }
    if marker is not None:
        scene, given = _marked(script, marker)
        return Choice(scene, {**built_in, **scene.parameters, **given})
    for scene in script.scenes.values():
        captured = _matches(scene, request, prompt) if scene.has_condition else None
        if captured is not None:
            return Choice(scene, {**built_in, **scene.parameters, **captured})
    scene = script.scenes[script.default]
    return Choice(scene, {**built_in, **scene.parameters})


def _split(prompt: str) -> tuple[str, str | None]:
    """The prompt without its first marker, and what is inside that marker."""
    match = _MARKER.search(prompt)
    if match is None:
        return prompt, None
    return (prompt[: match.start()] + prompt[match.end() :]).strip(), match["inside"]


def _marked(script: Script, inside: str) -> tuple[Scene, dict[str, str]]:
    marker = f"[[scene:{inside}]]"
    match = _INSIDE.fullmatch(inside)
    if match is None:
        raise ScriptError(f'cannot play {marker}: write [[scene: NAME key="value"]]')
    scene = script.scenes.get(match["name"])
    if scene is None:
        raise ScriptError(f"cannot play {marker}: no such scene in {script.name}; scenes: {', '.join(script.scenes)}")
    given = _parameters(match["rest"], marker)
    for key in given:
        if key not in scene.parameters:
            known = ", ".join(scene.parameters) or "none"
            raise ScriptError(f"cannot play {marker}: scene {scene.name!r} has no parameter {key!r}; it has: {known}")
    return scene, given


def _parameters(text: str, marker: str) -> dict[str, str]:
    given: dict[str, str] = {}
    position = 0
    text = text.rstrip()
    while position < len(text):
        match = _PARAMETER.match(text, position)
        if match is None:
            raise ScriptError(f'cannot play {marker}: cannot read {text[position:]!r}; write key="value"')
        quoted = match["quoted"]
        if quoted is not None:
            quoted = _ESCAPE.sub(lambda escape: _ESCAPED.get(escape[1], escape[1]), quoted)
        given[match["key"]] = match["bare"] if quoted is None else quoted
        position = match.end()
    return given


def _matches(scene: Scene, request: ModelRequest, prompt: str) -> dict[str, str] | None:
    """What the scene's pattern captured, or None if one of its conditions does not hold."""
    table = scene.table
    if table.when is not None and table.when.lower() not in prompt.lower():
        return None
    if table.message is not None and table.message != request.message:
        return None
    if table.opened_with is not None and table.opened_with.lower() not in request.opening.lower():
        return None
    if table.thread is not None and table.thread != request.thread:
        return None
    return _capture(table.when_regex, prompt)


def _conditions(step: Step, output: str) -> dict[str, str] | None:
    """What `if_output` captured, or None if the step is not to be played."""
    if step.unless_output is not None and re.search(step.unless_output, output):
        return None
    return _capture(step.if_output, output)


def _capture(pattern: str | None, text: str) -> dict[str, str] | None:
    if pattern is None:
        return {}
    match = re.search(pattern, text)
    return None if match is None else {key: value or "" for key, value in match.groupdict().items()}


def _unexpected(step: Step, output: str) -> Say | None:
    if step.expect is None or step.expect in output:
        return None
    return Say(say=step.otherwise or f"I expected {step.expect!r}, but the tool answered: {output[:SHOWN_OUTPUT]}")


def _check_order(beats: list[Beat], scene: Scene) -> None:
    if any(isinstance(beat.step, TEXTS) for beat in beats) and isinstance(beats[-1].step, Fail):
        raise ScriptError(
            f"cannot play step {beats[-1].index + 1} of scene {scene.name!r} in {scene.source}:"
            " 'fail' must come first in a response, and a text came before it"
        )


def _usage(script: Script, scene: Scene, beats: list[Beat]) -> dict[str, int]:
    usage = {**DEFAULT_USAGE, **script.usage, **scene.table.usage}
    for beat in beats:
        usage |= beat.step.usage
    return usage

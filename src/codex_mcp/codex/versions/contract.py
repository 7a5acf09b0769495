"""Pure. What we rely on in the app-server's protocol, compared with the schema that a Codex generates of itself.

A Codex may add methods and fields. It is unfit if a method that we call or hear is gone, if a request needs a field
that we do not send, or if an answer or a notification no longer surely has a field without which we cannot read it.
A field that is gone but may be missing anyway is harmless: what it showed is no longer shown.

A schema proves that messages have their form, not that Codex behaves as before; that has to be tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import NoneType, UnionType
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Raw, Struct, UnsetType
from msgspec.structs import FieldInfo

from codex_mcp.wire.app import requests as app
from codex_mcp.wire.app.notifications import DESCRIBED as NOTIFICATIONS
from codex_mcp.wire.app.questions import DESCRIBED as QUESTIONS
from codex_mcp.wire.app.questions import ServerElicitation

Schema = Mapping[str, Any]

MOST_REFERENCES: Final = 100
"""In a row. A schema that is made to mislead may lead in a circle."""


class Call(Struct, frozen=True):
    """What we send with a request, and what we read of its answer. `Raw`: nothing that is described here."""

    params: Any = Raw
    answer: Any = Raw


REQUESTS: Final[Mapping[str, Call]] = {
    "initialize": Call(app.Initialize),
    "config/read": Call(app.ConfigRead, app.Configuration),
    "config/batchWrite": Call(),
    "account/read": Call(app.AccountRead, app.Account),
    "account/login/start": Call(),
    "account/login/cancel": Call(),
    "account/logout": Call(),
    "environment/add": Call(app.AddEnvironment),
    "environment/info": Call(app.EnvironmentId),
    "thread/start": Call(app.ThreadStart, app.ThreadLocation),
    "thread/resume": Call(app.ThreadResume, app.ThreadLocation),
    "thread/fork": Call(app.ThreadFork, app.ThreadLocation),
    "thread/settings/update": Call(app.ThreadSettings),
    "thread/goal/get": Call(),
    "thread/goal/set": Call(),
    "thread/goal/clear": Call(app.ThreadId),
    "thread/revert": Call(app.ThreadRevert),
    "thread/turns/list": Call(),
    "thread/inject_items": Call(app.InjectItems),
    "thread/unsubscribe": Call(app.ThreadId),
    "thread/backgroundTerminals/list": Call(app.ThreadId, app.Terminals),
    "thread/backgroundTerminals/terminate": Call(app.TerminateTerminal),
    "thread/list": Call(),
    "thread/read": Call(),
    "thread/archive": Call(app.ThreadId),
    "turn/start": Call(app.TurnStart, app.TurnStartResponse),
    "turn/steer": Call(app.TurnSteer),
    "turn/interrupt": Call(app.TurnInterrupt),
    "review/start": Call(app.ReviewStart, app.TurnStartResponse),
    "command/exec": Call(),
    "command/exec/terminate": Call(),
    "fuzzyFileSearch": Call(),
}
"""Every request that we send, except some that Codex still answers although its schema no longer has them."""

UNLISTED: Final = frozenset(("getAuthStatus", "getConversationSummary"))
"""These. The conversation methods use them and say so if Codex refuses them."""

HEARD: Final = frozenset(("item/started", "item/completed", "turn/started", "turn/completed", "error"))
"""Notifications without which no turn has an answer. The others only add to what is shown."""


class Difference(Struct, frozen=True):
    what: str
    is_harmless: bool


def differences(bundle: Schema) -> list[Difference]:
    """How the protocol in the file `codex_app_server_protocol.schemas.json` differs from what we rely on."""
    described = _Bundle(bundle)
    return [*_requests(described), *_notifications(described), *_questions(described)]


def unfit(bundle: Schema) -> list[str]:
    """The differences that make a Codex unfit."""
    return [found.what for found in differences(bundle) if not found.is_harmless]


def _requests(bundle: _Bundle) -> Iterator[Difference]:
    known = bundle.messages("ClientRequest")
    for method, call in REQUESTS.items():
        if method not in known:
            yield Difference(f"it has no method {method}", is_harmless=False)
            continue
        params = known[method]
        if call.params is not Raw:
            yield from _sent(bundle, method, call.params, params)
        if call.answer is not Raw:
            yield from _read(bundle, f"the answer to {method}", call.answer, bundle.answer_to(params))


def _notifications(bundle: _Bundle) -> Iterator[Difference]:
    known = bundle.messages("ServerNotification")
    for method, kind in NOTIFICATIONS.items():
        if method in known:
            yield from _read(bundle, method, kind, bundle.resolved(known[method]))
        else:
            yield Difference(f"it has no notification {method}", is_harmless=method not in HEARD)


def _questions(bundle: _Bundle) -> Iterator[Difference]:
    known = bundle.messages("ServerRequest")
    for method, kind in {**QUESTIONS, ServerElicitation.method: None}.items():
        if method not in known:
            yield Difference(f"it has no request {method}", is_harmless=False)
        elif kind is not None:
            yield from _read(bundle, method, kind, bundle.resolved(known[method]))


def _sent(bundle: _Bundle, method: str, kind: type[Struct], params: Schema) -> Iterator[Difference]:
    """Whether Codex takes all that we send, and needs nothing else."""
    schema = bundle.resolved(params)
    ours = {field.encode_name for field in msgspec.structs.fields(kind)}
    for name in sorted(ours - schema.get("properties", {}).keys()):
        yield Difference(f"{method} takes no {name}", is_harmless=False)
    for name in sorted(set(schema.get("required", ())) - ours):
        yield Difference(f"{method} needs {name}", is_harmless=False)


def _read(bundle: _Bundle, where: str, kind: type[Struct], schema: Schema) -> Iterator[Difference]:
    """Whether every field that we read is there, and surely so if we cannot do without it."""
    properties, required = schema.get("properties", {}), set(schema.get("required", ()))
    hints = get_type_hints(kind)
    for field in msgspec.structs.fields(kind):
        name = field.encode_name
        if name not in properties:
            yield Difference(f"{where} has no {name}", is_harmless=not _is_needed(field))
        elif _is_needed(field) and name not in required and "default" not in properties[name]:
            yield Difference(f"{where} may have no {name}", is_harmless=False)
        elif (inner := _described(hints[field.name])) is not None:
            below = bundle.resolved(properties[name])
            if "properties" in below:
                yield from _read(bundle, f"{name} of {where}", inner, below)


def _is_needed(field: FieldInfo) -> bool:
    return field.default is msgspec.NODEFAULT and field.default_factory is msgspec.NODEFAULT


def _described(hint: object) -> type[Struct] | None:
    """The one struct in an annotation such as `Turn | None`; None for lists and for unions of several."""
    options = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    kinds = [each for each in options if each not in (NoneType, UnsetType)]
    (kind,) = kinds if len(kinds) == 1 else (None,)
    return kind if isinstance(kind, type) and issubclass(kind, Struct) else None


class _Bundle:
    def __init__(self, bundle: Schema) -> None:
        self._definitions: Schema = bundle["definitions"]

    def messages(self, name: str) -> dict[str, Schema]:
        """The methods of a kind of message, each with the schema of its params."""
        found: dict[str, Schema] = {}
        for option in self._definitions.get(name, {}).get("oneOf", ()):
            properties = option.get("properties", {})
            for method in properties.get("method", {}).get("enum", ()):
                found[method] = properties.get("params", {})
        return found

    def answer_to(self, params: Schema) -> Schema:
        """`ThreadStartParams` is answered with `ThreadStartResponse`."""
        name = str(params.get("$ref", "")).removesuffix("Params") + "Response"
        return self.resolved({"$ref": name})

    def resolved(self, schema: Schema) -> Schema:
        """The schema behind references, and behind `null or …`; {} if there is none."""
        for _ in range(MOST_REFERENCES):
            options = [*schema.get("allOf", ()), *(o for o in schema.get("anyOf", ()) if o.get("type") != "null")]
            if "$ref" in schema:
                schema = self._definition(schema["$ref"])
            elif len(options) == 1 and "properties" not in schema:
                schema = options[0]
            else:
                return schema
        return {}

    def _definition(self, reference: str) -> Schema:
        here: Any = self._definitions
        for name in reference.removeprefix("#/definitions/").split("/"):
            here = here.get(name, {})
        return here if isinstance(here, Mapping) else {}

"""Pure. The items of a user's message, in both of their spellings.

    text         {type: text, data: {text}}               or  {type: text, text}
    image        {type: image, data: {image_url}}         or  with imageUrl or url, or without data
    local image  {type: localImage, data: {path}}         or  without data

0.42.0 understood only the first form; its documentation showed the second.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from typing import Final

from codex_mcp.codex.core import MAX_PROMPT_CHARS, PROMPT_TOO_LONG, TurnSettings, TurnSpec
from codex_mcp.conversations.refusals import refused
from codex_mcp.rpc.errors import RequestFailed, invalid_params
from codex_mcp.wire.app.requests import ImageInput, LocalImageInput, TextInput

URL_NAMES: Final = ("image_url", "imageUrl", "url")
URL_SCHEMES: Final = ("http:", "https:", "data:")


def turn_of(items: Sequence[Mapping[str, object]], cwd: str, settings: TurnSettings | None = None) -> TurnSpec:
    """The turn that these items ask for. A relative path is below `cwd`. Raises RequestFailed."""
    if not items:
        raise invalid_params("items must not be empty")
    parts = tuple(_part(item, number, cwd) for number, item in enumerate(items))
    texts = [part.text for part in parts if isinstance(part, TextInput)]
    length = sum(map(len, texts))
    if length > MAX_PROMPT_CHARS:
        raise refused(PROMPT_TOO_LONG.format(MAX_PROMPT_CHARS, length))
    images = [
        part.url if isinstance(part, ImageInput) else part.path for part in parts if not isinstance(part, TextInput)
    ]
    return TurnSpec("\n".join(texts), tuple(images), parts=parts, settings=settings)


def local_images(spec: TurnSpec) -> list[str]:
    return [part.path for part in spec.parts if isinstance(part, LocalImageInput)]


def _part(item: Mapping[str, object], number: int, cwd: str) -> TextInput | ImageInput | LocalImageInput:
    kind = item.get("type")
    data = item.get("data", item)
    if not isinstance(data, Mapping):
        raise _wrong(number, "its data must be an object")
    match kind:
        case "text":
            return TextInput(_string(data, ("text",), number))
        case "image":
            url = _string(data, URL_NAMES, number)
            if not url.startswith(URL_SCHEMES):
                raise _wrong(number, "the URL of an image must begin with http:, https: or data:")
            return ImageInput(url)
        case "localImage" | "local_image":
            return LocalImageInput(posixpath.join(cwd, _string(data, ("path",), number)))
        case _:
            raise _wrong(number, "its type must be text, image or localImage")


def _string(data: Mapping[str, object], names: Sequence[str], number: int) -> str:
    found = next((data[name] for name in names if name in data), None)
    if not isinstance(found, str):
        raise _wrong(number, f"it needs the text {names[0]}")
    return found


def _wrong(number: int, why: str) -> RequestFailed:
    return invalid_params(f"items[{number}]: {why}")

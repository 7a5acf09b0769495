"""The types of all messages: their fields have types that exist, and names that are theirs alone."""

import importlib
import pkgutil
from collections.abc import Iterator

import msgspec
import pytest

from codex_mcp import wire


def types() -> Iterator[type[msgspec.Struct]]:
    """All of them, each once."""
    for module in pkgutil.walk_packages(wire.__path__, f"{wire.__name__}."):
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, type) and issubclass(value, msgspec.Struct) and value.__module__ == module.name:
                yield value


@pytest.mark.parametrize("message", [*types()], ids=lambda message: f"{message.__module__}.{message.__name__}")
def test_its_fields_have_types_and_names(message: type[msgspec.Struct]) -> None:
    names = [field.encode_name for field in msgspec.structs.fields(message)]
    assert len({*names, message.__struct_config__.tag_field}) == len(names) + 1

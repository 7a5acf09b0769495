"""Message types of a .proto file, from protobuf's own library. Its compiler is not a Python package, so the few forms
that our file has are read here: messages, one `oneof`, and fields of four types."""

import re
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory  # type: ignore[import-untyped]

FieldProto = descriptor_pb2.FieldDescriptorProto

TYPES = {"uint32": FieldProto.TYPE_UINT32, "string": FieldProto.TYPE_STRING, "bytes": FieldProto.TYPE_BYTES}

ONEOF = re.compile(r"oneof (\w+) \{(.*?)\}", re.DOTALL)
FIELD = re.compile(r"(\w+) (\w+) = (\d+);")


def message_types(source: str) -> dict[str, Any]:
    """Each message of the file by its name, as a class."""
    plain = re.sub(r"//[^\n]*", "", source)
    package = re.search(r"^package ([\w.]+);", plain, re.MULTILINE)
    assert package is not None
    assert 'syntax = "proto3";' in plain
    file = descriptor_pb2.FileDescriptorProto(name="a.proto", package=package[1], syntax="proto3")
    for name, body in re.findall(r"message (\w+) \{((?:[^{}]|\{[^{}]*\})*)\}", plain):
        _add_message(file, package[1], name, body)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    full = {each.name: pool.FindMessageTypeByName(f"{package[1]}.{each.name}") for each in file.message_type}
    return {name: message_factory.GetMessageClass(found) for name, found in full.items()}


def _add_message(file: Any, package: str, name: str, body: str) -> None:
    message = file.message_type.add(name=name)
    for oneof, inside in ONEOF.findall(body):
        message.oneof_decl.add(name=oneof)
        for field in FIELD.findall(inside):
            _add_field(message, package, field, oneof_index=0)
    for field in FIELD.findall(ONEOF.sub("", body)):
        _add_field(message, package, field)


def _add_field(message: Any, package: str, field: tuple[str, str, str], **options: int) -> None:
    kind, name, number = field
    added = message.field.add(name=name, number=int(number), label=FieldProto.LABEL_OPTIONAL, **options)
    if kind in TYPES:
        added.type = TYPES[kind]
    else:
        added.type, added.type_name = FieldProto.TYPE_MESSAGE, f".{package}.{kind}"

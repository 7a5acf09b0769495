"""What the conformance suite wants to find on a server: tools, resources and prompts of its own, by fixed names."""

from typing import Any, Final

Json = dict[str, Any]

PIXEL: Final = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
"""A red PNG of one pixel."""

SILENCE: Final = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="
"""A WAV of no samples."""

NO_ARGUMENTS: Final[Json] = {"type": "object", "properties": {}}


def text(words: str) -> Json:
    """A block of text."""
    return {"type": "text", "text": words}


def embedded(uri: str, words: str, kind: str = "text/plain") -> Json:
    """A block that holds a resource."""
    return {"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": words}}


IMAGE: Final[Json] = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
AUDIO: Final[Json] = {"type": "audio", "data": SILENCE, "mimeType": "audio/wav"}

STATIC_RESULTS: Final[dict[str, Json]] = {
    "test_simple_text": {"content": [text("This is a simple text response for testing.")]},
    "test_image_content": {"content": [IMAGE]},
    "test_audio_content": {"content": [AUDIO]},
    "test_embedded_resource": {
        "content": [embedded("test://embedded-resource", "This is an embedded resource content.")]
    },
    "test_multiple_content_types": {
        "content": [
            text("Multiple content types test:"),
            IMAGE,
            embedded("test://mixed-content-resource", '{"test":"data","value":123}', "application/json"),
        ]
    },
    "test_error_handling": {
        "isError": True,
        "content": [text("This tool intentionally returns an error for testing")],
    },
    "json_schema_2020_12_tool": {"content": [text("ok")]},
}
"""Tools that always answer the same."""

RICH_SCHEMA: Final[Json] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
"""It has to arrive as it is."""

SCHEMAS: Final[dict[str, Json]] = {
    "json_schema_2020_12_tool": RICH_SCHEMA,
    "test_sampling": {"type": "object", "properties": {"prompt": {"type": "string"}}, "required": ["prompt"]},
    "test_elicitation": {"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]},
}
"""The arguments of tools that have any."""

RESOURCES: Final[dict[str, Json]] = {
    "test://static-text": {"mimeType": "text/plain", "text": "This is the content of the static text resource."},
    "test://static-binary": {"mimeType": "image/png", "blob": PIXEL},
    "test://watched-resource": {"mimeType": "text/plain", "text": "Watch me."},
}

TEMPLATE: Final = "test://template/{id}/data"

PROMPT_ARGUMENTS: Final[dict[str, list[str]]] = {
    "test_simple_prompt": [],
    "test_prompt_with_arguments": ["arg1", "arg2"],
    "test_prompt_with_embedded_resource": ["resourceUri"],
    "test_prompt_with_image": [],
    "test_input_required_result_prompt": [],
}
"""The prompts, and the names of their arguments."""


def prompt_blocks(name: str, arguments: dict[str, str]) -> list[Json]:
    """What a prompt says."""
    match name:
        case "test_simple_prompt":
            return [text("This is a simple prompt for testing.")]
        case "test_prompt_with_arguments":
            return [text(f"Prompt with arguments: arg1='{arguments['arg1']}', arg2='{arguments['arg2']}'")]
        case "test_prompt_with_embedded_resource":
            resource = embedded(arguments["resourceUri"], "Embedded resource content for testing.")
            return [resource, text("Please process the embedded resource above.")]
        case "test_prompt_with_image":
            return [IMAGE, text("Please analyze the image above.")]
        case _:
            raise KeyError(name)


def elicitation(message: str, properties: Json) -> Json:
    """A question to a person, all of whose fields must be filled in."""
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}}


def sampling(words: str, tokens: int = 100) -> Json:
    """A question to the client's model."""
    messages = [{"role": "user", "content": text(words)}]
    return {"method": "sampling/createMessage", "params": {"messages": messages, "maxTokens": tokens}}


ROOTS: Final[Json] = {"method": "roots/list", "params": {}}

NAME: Final[Json] = {"name": {"type": "string"}}

DEFAULTS: Final[Json] = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "default": True},
}

_VALUES: Final = ["option1", "option2", "option3"]
_TITLED: Final = [
    {"const": "value1", "title": "First Option"},
    {"const": "value2", "title": "Second Option"},
    {"const": "value3", "title": "Third Option"},
]

ENUMS: Final[Json] = {
    "untitledSingle": {"type": "string", "enum": _VALUES},
    "titledSingle": {"type": "string", "oneOf": _TITLED},
    "legacyEnum": {
        "type": "string",
        "enum": ["opt1", "opt2", "opt3"],
        "enumNames": ["Option One", "Option Two", "Option Three"],
    },
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": _VALUES}},
    "titledMulti": {"type": "array", "items": {"anyOf": _TITLED}},
}

ASKING: Final[dict[str, Json]] = {
    "test_elicitation_sep1034_defaults": elicitation("Please check these values.", DEFAULTS),
    "test_elicitation_sep1330_enums": elicitation("Please choose.", ENUMS),
}
"""Tools that ask a client that has shaken hands."""

INPUT_ROUNDS: Final[dict[str, list[dict[str, Json]]]] = {
    "test_input_required_result_elicitation": [{"user_name": elicitation("What is your name?", NAME)}],
    "test_input_required_result_sampling": [{"capital_question": sampling("What is the capital of France?")}],
    "test_input_required_result_list_roots": [{"client_roots": ROOTS}],
    "test_input_required_result_request_state": [
        {"confirm": elicitation("Please confirm", {"ok": {"type": "boolean"}})}
    ],
    "test_input_required_result_tampered_state": [
        {"confirm": elicitation("Please confirm", {"ok": {"type": "boolean"}})}
    ],
    "test_input_required_result_multiple_inputs": [
        {
            "user_name": elicitation("What is your name?", NAME),
            "greeting": sampling("Generate a greeting", 50),
            "client_roots": ROOTS,
        }
    ],
    "test_input_required_result_multi_round": [
        {"step1": elicitation("Step 1: What is your name?", NAME)},
        {"step2": elicitation("Step 2: What is your favorite color?", {"color": {"type": "string"}})},
    ],
    "test_input_required_result_capabilities": [
        {"person": elicitation("What is your name?", NAME), "model": sampling("Say something.")}
    ],
    "test_streaming_elicitation": [{"user_name": elicitation("What is your name?", NAME)}],
    "test_input_required_result_prompt": [
        {"user_context": elicitation("What is it about?", {"context": {"type": "string"}})}
    ],
}
"""What needs input from a client that has not shaken hands: the questions of each round."""

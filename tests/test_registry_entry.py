"""server.json says what the MCP registry asks for: the rules of its schema of 2025-12-11 that concern us."""

import json
import re
import tomllib
from pathlib import Path

import jsonschema

from codex_mcp import __version__
from codex_mcp.cli.commands import COMMANDS

ROOT = Path(__file__).parents[1]
SERVER = json.loads((ROOT / "server.json").read_text())

ADDRESS = {"type": "string", "pattern": "^https://"}
FIXED_VERSION = {"type": "string", "pattern": r"^\d+\.\d+\.\d+$"}
ARGUMENT = {
    "type": "object",
    "required": ["type", "value"],
    "properties": {"type": {"enum": ["positional"]}, "value": {"type": "string"}},
    "additionalProperties": False,
}
VARIABLE = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string"},
        "description": {"type": "string"},
        "format": {"enum": ["string", "number", "boolean", "filepath"]},
        "isSecret": {"type": "boolean"},
    },
    "additionalProperties": False,
}
PACKAGE = {
    "type": "object",
    "required": ["registryType", "identifier", "version", "transport"],
    "properties": {
        "registryType": {"enum": ["pypi"]},
        "identifier": {"type": "string"},
        "version": FIXED_VERSION,
        "runtimeHint": {"type": "string"},
        "transport": {"const": {"type": "stdio"}},
        "packageArguments": {"type": "array", "items": ARGUMENT},
        "environmentVariables": {"type": "array", "items": VARIABLE},
    },
    "additionalProperties": False,
}
RULES = {
    "type": "object",
    "required": ["$schema", "name", "description", "version", "packages"],
    "properties": {
        "$schema": {"const": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"},
        "name": {"type": "string", "maxLength": 200, "pattern": r"^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$"},
        "title": {"type": "string", "minLength": 1, "maxLength": 100},
        "description": {"type": "string", "minLength": 1, "maxLength": 100},
        "version": FIXED_VERSION,
        "repository": {
            "type": "object",
            "required": ["url", "source"],
            "properties": {"url": ADDRESS, "source": {"const": "github"}},
            "additionalProperties": False,
        },
        "packages": {"type": "array", "minItems": 1, "items": PACKAGE},
    },
    "additionalProperties": False,
}


def test_it_follows_the_rules_of_the_registry() -> None:
    jsonschema.validate(SERVER, RULES, jsonschema.Draft7Validator)


def test_it_names_this_package_this_version_and_this_repository() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (package,) = SERVER["packages"]
    assert (SERVER["version"], package["version"], package["identifier"]) == (__version__, __version__, project["name"])
    assert SERVER["repository"]["url"] == project["urls"]["Repository"]
    owner, name = re.findall(r"github\.com/([^/]+)/(.+)", project["urls"]["Repository"])[0]
    assert SERVER["name"] == f"io.github.{owner}/{name}"


def test_the_command_that_it_starts_exists() -> None:
    (package,) = SERVER["packages"]
    assert next(argument["value"] for argument in package["packageArguments"]) in COMMANDS

"""The tools for team mail: an agent has the same ones as the client, without the choice of an identity."""

import jsonschema
import pytest

from codex_mcp.mcp.schema.catalogue import Tool
from codex_mcp.mcp.schema.fields import BadArguments, input_schema
from codex_mcp.mcp.schema.mail_catalogue import AGENT_TOOLS, ATM_READ, MAIL_TOOLS, agent_arguments, agent_fields


@pytest.mark.parametrize("tool", MAIL_TOOLS, ids=lambda tool: tool.name)
def test_an_agent_cannot_choose_who_it_is(tool: Tool) -> None:
    (offered,) = [each for each in AGENT_TOOLS if each["name"] == tool.name]
    assert offered["inputSchema"] == input_schema(agent_fields(tool), closed=True)
    assert [field.name for field in tool.accepted] == ["identity", *(field.name for field in agent_fields(tool))]
    jsonschema.Draft202012Validator.check_schema(input_schema(agent_fields(tool)))
    with pytest.raises(BadArguments, match="unknown field `identity`"):
        agent_arguments(tool, {"identity": "arch"}, "dev")


def test_a_limit_may_come_as_a_float_and_has_bounds() -> None:
    assert ATM_READ.read({"identity": "a", "limit": 3.0}).limit == 3
    for limit in (0, 101, 1.5):
        with pytest.raises(BadArguments):
            ATM_READ.read({"identity": "a", "limit": limit})

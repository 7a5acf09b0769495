"""A tiny MCP server for Codex to use over stdio: `echo` repeats its text, `ask` asks the user for a city first."""

import json
import sys

CITY_FORM = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TEXT_SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}}
TOOLS = [{"name": name, "description": name, "inputSchema": TEXT_SCHEMA} for name in ("echo", "ask")]
INFO = {"name": "inner", "version": "0"}


def send(**message: object) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)  # noqa: T201


def call(message: dict[str, dict[str, str]]) -> str:
    if message["params"]["name"] == "echo":
        return f"echo: {message['params'].get('arguments')}"
    params = {"message": "Which city?", "requestedSchema": CITY_FORM}
    send(id="ask-1", method="elicitation/create", params=params)
    return json.dumps(json.loads(sys.stdin.readline()).get("result"))


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        match message.get("method"):
            case "initialize":
                version = message["params"]["protocolVersion"]
                result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": INFO}
                send(id=message["id"], result=result)
            case "tools/list":
                send(id=message["id"], result={"tools": TOOLS})
            case "tools/call":
                send(id=message["id"], result={"content": [{"type": "text", "text": call(message)}]})
            case _ if "id" in message and "method" in message:
                send(id=message["id"], result={})


if __name__ == "__main__":
    main()

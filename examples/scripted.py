"""Run an example without an account: python scripted.py COMMAND…, such as python scripted.py python python_sdk.py one

A scripted model (script.toml) plays both models: that of the agent that leads, and that of Codex. Codex itself, its
sandbox and codex-mcp are real. Needs the Python in which codex-mcp is installed.
"""

import asyncio
import json
import os
import sys
import tempfile
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel

HERE = Path(__file__).parent


async def main(command: list[str]) -> int:
    async with ScriptedModel(load_script(HERE / "script.toml")) as model:
        gemini = Gemini(model.base_url)
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
            settings = "\n".join(each for each in model.codex_overrides())
            (Path(home) / "config.toml").write_text(settings + "\n")
            variables = {
                "CODEX_HOME": home,
                "CODEX_MCP_STATE_DIR": f"{home}/state",
                "OPENAI_BASE_URL": model.base_url,
                "OPENAI_API_KEY": "scripted",
                "OPENAI_AGENTS_DISABLE_TRACING": "1",
                "GOOGLE_GEMINI_BASE_URL": gemini.address,
                "GOOGLE_API_KEY": "scripted",
                "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            }
            example = await asyncio.create_subprocess_exec(*command, env={**os.environ, **variables})
            code = await example.wait()
        gemini.close()
    return code


class Gemini:
    """The scripted model as Google's models speak, for ADK."""

    def __init__(self, base_url: str) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
                body = json.dumps({"model": "gemini", "stream": False, "input": _asked(asked["contents"])}).encode()
                with urllib.request.urlopen(urllib.request.Request(f"{base_url}/responses", body)) as answer:
                    said = json.dumps({"candidates": [{"content": _said(json.load(answer)["output"])}]}).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(said)))
                self.end_headers()
                self.wfile.write(said)

            def log_message(self, *_: object) -> None:
                """Quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def _asked(contents: list[dict]) -> list[dict]:
    """Google's messages as OpenAI's. The id of a call stands in the name of its thought."""
    items, ids = [], []
    for content in contents:
        for part in content["parts"]:
            if "functionCall" in part:
                ids.append(part["functionCall"]["id"])
            elif "functionResponse" in part:
                output = json.dumps(part["functionResponse"]["response"])
                items.append({"type": "function_call_output", "call_id": ids.pop(0), "output": output})
            elif content["role"] == "user":
                items.append({"role": "user", "content": part["text"]})
    return items


def _said(items: list[dict]) -> dict:
    parts = []
    for item in items:
        if item["type"] == "function_call":
            call = {"id": item["call_id"], "name": item["name"], "args": json.loads(item["arguments"])}
            parts.append({"functionCall": call})
        elif item["type"] == "message":
            parts.append({"text": item["content"][0]["text"]})
    return {"role": "model", "parts": parts}


sys.exit(asyncio.run(main(sys.argv[1:])))

"""Counterparts of the recordings 20 and 21 of 0.42.0: configuration, commands, files, and the sign-in."""

import json
import subprocess
from pathlib import Path
from uuid import uuid4

import pytest

from tests.acceptance.recordings.exchange import serve
from tests.support.servers.conversations import ask, login_port, refusal
from tests.support.servers.mcp_server import McpServer, Setup

CONFIG = """# the user's own
model = "mock-model" # chosen with care
sandbox_mode = "danger-full-access"
model_reasoning_effort = "high"

[profiles.p1]
model = "prof-model"

[sandbox_workspace_write]
network_access = true
"""

NO_LOGIN = "-c", 'model_provider="openai"'


def git(folder: Path, *words: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=folder, check=True, capture_output=True
    )


async def test_the_server_tells_its_user_agent_the_user_and_the_saved_configuration(tmp_path: Path) -> None:
    home = Setup(tmp_path)
    home.make()
    (home.codex_home / "config.toml").write_text(CONFIG)
    async with serve(tmp_path) as (server, _model):
        greeting = await server.initialize(name="recorder")
        agent = await ask(server, "getUserAgent")
        assert agent == {"userAgent": greeting["result"]["serverInfo"]["user_agent"]}
        assert agent["userAgent"].endswith("(recorder; 1)")
        assert await server.result(server.request("userInfo")) == {"allegedUserEmail": None}
        assert await server.result(server.request("getAuthStatus")) == {"requiresOpenaiAuth": False}
        saved = (await ask(server, "getUserSavedConfig"))["config"]
        assert (saved["model"], saved["sandboxMode"]) == ("mock-model", "danger-full-access")
        assert saved["sandboxSettings"]["networkAccess"] is True
        assert saved["profiles"]["p1"] == {
            **dict.fromkeys(("modelProvider", "approvalPolicy", "modelReasoningEffort", "modelReasoningSummary")),
            "model": "prof-model",
            "modelVerbosity": None,
            "chatgptBaseUrl": None,
        }

        path = server.setup.codex_home / "config.toml"
        assert await ask(server, "setDefaultModel", model="gpt-5-codex", reasoningEffort="low") == {}
        assert path.read_text() == CONFIG.replace("mock-model", "gpt-5-codex").replace('"high"', '"low"')
        assert await ask(server, "setDefaultModel") == {}
        assert "model" not in (await ask(server, "getUserSavedConfig"))["config"]
        assert "model_reasoning_effort" not in path.read_text()
        assert (await refusal(server, "setDefaultModel", reasoningEffort="bogus"))[0] == -32602
        path.write_text("model = ")
        code, text = await refusal(server, "getUserSavedConfig")
        assert code == -32603
        assert text.startswith("failed to parse config.toml: ")


async def test_a_command_runs_in_the_sandbox_that_it_names_and_within_its_time(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, _model):
        folder = tmp_path / "other"
        folder.mkdir()
        full = {"mode": "danger-full-access"}
        shell = ["sh", "-c", "echo out; echo err >&2; pwd; exit 3"]
        ran = await ask(
            server, "execOneOffCommand", command=shell, timeoutMs=60_000, cwd=str(folder), sandboxPolicy=full
        )
        assert ran == {"exitCode": 3, "stdout": f"out\n{folder}\n", "stderr": "err\n"}
        assert (await ask(server, "execOneOffCommand", command=["echo", "hi"]))["stdout"] == "hi\n"
        slow = {"command": ["sleep", "600"], "timeoutMs": 100}
        timed_out = (-32603, "exec failed: sandbox error: command timed out")
        assert await refusal(server, "execOneOffCommand", **slow) == timed_out
        assert await refusal(server, "execOneOffCommand", command=[]) == (-32600, "command must not be empty")
        missing = (-32603, "exec failed: No such file or directory (os error 2)")
        assert await refusal(server, "execOneOffCommand", command=["/no/such/bin"], sandboxPolicy=full) == missing
        assert await refusal(server, "execOneOffCommand", command=["/no/such/bin"]) == missing
        assert (await refusal(server, "execOneOffCommand", command=["true"], timeoutMs=-1))[0] == -32602

        outside = server.setup.home / "outside"
        write = {"command": ["sh", "-c", f"echo x > f; cat f; touch {outside}; echo $?"], "cwd": str(folder)}
        read_only = await ask(server, "execOneOffCommand", **write, sandboxPolicy={"mode": "read-only"})
        assert read_only["stdout"] == "1\n"
        assert not (folder / "f").exists()
        no_temporary = {"exclude_slash_tmp": True, "exclude_tmpdir_env_var": True}
        policy = {"mode": "workspace-write", "writable_roots": [str(folder)], **no_temporary}
        written = await ask(server, "execOneOffCommand", **write, sandboxPolicy=policy)
        assert written["stdout"] == "x\n1\n"
        assert not outside.exists()
        assert (await refusal(server, "execOneOffCommand", command=["true"], sandboxPolicy={"mode": "none"}))[
            0
        ] == -32602


async def test_files_are_found_and_a_diff_to_the_remote_is_made(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, _model):
        repository, remote = tmp_path / "repository", tmp_path / "remote.git"
        repository.mkdir()
        git(repository, "init", "--bare", str(remote))
        git(repository, "init", "-b", "main")
        (repository / "albert.txt").write_text("one\n")
        git(repository, "add", ".")
        git(repository, "commit", "-m", "first")
        git(repository, "remote", "add", "origin", str(remote))
        git(repository, "push", "origin", "main")
        (repository / "albert.txt").write_text("one\ntwo\n")
        (repository / "new").write_text("new\n")
        git(repository, "config", "filter.evil.clean", f"touch {tmp_path}/mark; cat")
        (repository / ".git/info/attributes").write_text("* filter=evil\n")

        diff = await ask(server, "gitDiffToRemote", cwd=str(repository))
        assert len(diff["sha"]) == 40
        assert "+two" in diff["diff"]
        assert "new file mode" in diff["diff"]
        assert not (tmp_path / "mark").exists()
        for cwd in (str(server.setup.home), "/no/such"):
            text = f'failed to compute git diff to remote for cwd: "{cwd}"'
            assert await refusal(server, "gitDiffToRemote", cwd=cwd) == (-32600, text)

        (found,) = (await ask(server, "fuzzyFileSearch", query="albe", roots=[str(repository)]))["files"]
        assert (found["root"], found["path"]) == (str(repository), "albert.txt")
        assert found["indices"] == [0, 1, 2, 3]
        nothing = await ask(server, "fuzzyFileSearch", query="", roots=[str(repository)], cancellationToken="t")
        assert nothing == {"files": []}


async def changed(server: McpServer, number: int) -> object:
    """The params of the next `authStatusChange`."""
    await server.until(
        lambda: len([each for each in server.messages if each.get("method") == "authStatusChange"]) > number
    )
    return [each for each in server.messages if each.get("method") == "authStatusChange"][number]["params"]


@pytest.mark.parametrize("key", ["sk-test-123", "no usual shape at all"])
async def test_signing_in_and_out_is_answered_and_then_announced(tmp_path: Path, key: str) -> None:
    async with serve(tmp_path, *NO_LOGIN, environment={"CODEX_MCP_LOG_LEVEL": "trace"}) as (server, _model):
        assert await ask(server, "getAuthStatus", includeToken=True) == {"requiresOpenaiAuth": True}
        request = server.request("loginApiKey", {"apiKey": key})
        assert await server.result(request) == {}
        assert await changed(server, 0) == {"authMethod": "apikey", "auth_mode": "ApiKey"}
        methods = [message.get("method", message.get("id")) for message in server.messages]
        assert methods.index(request) < methods.index("authStatusChange")
        signed_in = {"authMethod": "apikey", "requiresOpenaiAuth": True}
        assert await ask(server, "getAuthStatus") == signed_in
        assert await ask(server, "getAuthStatus", includeToken=True) == {**signed_in, "authToken": key}
        saved = json.loads((server.setup.codex_home / "auth.json").read_text())
        assert saved["OPENAI_API_KEY"] == key
        assert await ask(server, "userInfo") == {"allegedUserEmail": None}

        assert await ask(server, "logoutChatGpt") == {}
        assert await changed(server, 1) == {}
        assert await ask(server, "getAuthStatus") == {"requiresOpenaiAuth": True}
        assert (await refusal(server, "loginApiKey"))[0] == -32602
        assert key not in server.log
        assert key not in server.stderr


async def test_a_login_can_be_started_and_cancelled(tmp_path: Path) -> None:
    async with login_port(), serve(tmp_path, *NO_LOGIN) as (server, _model):
        started = await ask(server, "loginChatGpt")
        assert started["authUrl"].startswith("https://auth.openai.com/oauth/authorize?")
        for unknown in (str(uuid4()), "nothing"):
            not_found = (-32600, f"login id not found: {unknown}")
            assert await refusal(server, "cancelLoginChatGpt", loginId=unknown) == not_found
        assert await ask(server, "cancelLoginChatGpt", loginId=started["loginId"]) == {}
        complete = await server.wait_for(lambda message: message.get("method") == "loginChatGptComplete")
        error = "Login server error: Login was not completed"
        same = started["loginId"]
        assert complete["params"] == {"loginId": same, "login_id": same, "success": False, "error": error}

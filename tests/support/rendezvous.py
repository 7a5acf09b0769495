"""A real `codex-mcp rendezvous` for a test, with principals that may do different things."""

import signal
import sys
from pathlib import Path

from codex_mcp.relay.bodies import Connected, Registered
from codex_mcp.relay.keys import PrivateKeys
from codex_mcp.relay.registry_client import RegistryClient
from codex_mcp.transports.dialled_socket import DialledSocket, dial
from tests.support.patience import PATIENCE
from tests.support.relay import private_keys
from tests.support.servers.child import Child

TOKENS = {name: f"the-token-of-{name}-for-tests" for name in ("alice", "bob", "ci")}

TOKEN_FILE = f"""
# the principals of the tests
alice {TOKENS["alice"]} register=alice-* reach=alice-*,build-*
bob   {TOKENS["bob"]}   register=bob-*,shared reach=bob-*,shared
ci    {TOKENS["ci"]}    register=build-*,shared
"""


class RunningRendezvous(Child):
    """`async with RunningRendezvous(home) as rendezvous:`; `port` lets a second one take the place of the first."""

    def __init__(self, home: Path, port: int = 0, *flags: str) -> None:
        home.mkdir(parents=True, exist_ok=True)
        self.tokens = home / "tokens"
        if not self.tokens.exists():
            self.tokens.write_text(TOKEN_FILE)
            self.tokens.chmod(0o600)
        self.audit = home / "audit.jsonl"
        argv = [sys.executable, "-m", "codex_mcp", "rendezvous", "--port", str(port), "--log-level", "info"]
        argv += ["--tokens", str(self.tokens), "--audit", str(self.audit), *flags]
        super().__init__(argv, {"PATH": "/usr/bin:/bin", "HOME": str(home)}, home, stdin=False)
        self.url = ""

    async def begin(self) -> None:
        """Wait until it listens."""
        self.url = (await self.stdout.readline()).decode().strip()
        assert self.url.startswith("http"), f"the rendezvous did not start: {self.url!r}"

    async def ask_to_end(self) -> None:
        """One signal is enough."""
        self.signal(signal.SIGTERM)

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.url.rpartition(":")[2])

    def as_(self, principal: str) -> RegistryClient:
        """The registry, asked with this principal's token."""
        return RegistryClient(self.url, TOKENS[principal])


async def relay_socket(answer: Registered | Connected) -> DialledSocket:
    """Open the socket that the registry gave out."""
    return await dial(answer.url, {}, PATIENCE, is_relay=True)


def executor_keys() -> PrivateKeys:
    """Those of every executor in these tests."""
    return private_keys("executor")

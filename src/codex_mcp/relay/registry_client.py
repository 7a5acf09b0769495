"""Asks a registry over HTTP: ours (`codex-mcp rendezvous`) or any other with the same requests.

Each request has its own connection, in a thread: they are rare, and the standard library knows proxies and TLS. A kept
connection would save half a millisecond, and break together with the sockets after whose loss it is needed.
"""

from __future__ import annotations

import http.client
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from typing import Final, NoReturn, TypeVar
from urllib.parse import quote, urlsplit

import msgspec

from codex_mcp.access.loopback import is_loopback
from codex_mcp.base.blocking import in_thread
from codex_mcp.base.errors import Refused
from codex_mcp.base.printable import foreign
from codex_mcp.relay.bodies import (
    BASE,
    MAX_BODY_BYTES,
    NAME_HEADER,
    OFFLINE,
    Connect,
    Connected,
    EnvironmentEntry,
    EnvironmentList,
    Failed,
    Register,
    Registered,
    Validate,
    Validated,
)
from codex_mcp.relay.errors import UNREADABLE
from codex_mcp.relay.handshake import PROFILE
from codex_mcp.relay.keys import PublicKeys, public_key_object

Answer = TypeVar("Answer")

SECONDS: Final = 10.0
"""For one request, as in Codex."""

PLAIN: Final = {"Content-Type": "application/json", "Accept": "application/json"}

TEMPORARY: Final = (408, 429, 500, 502, 503, 504)


class RegistryRefused(Refused):
    """The registry answered with an error."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(f"the registry refused with {status}: {foreign(message)}")
        self.status = status
        self.code = foreign(code)

    @property
    def is_temporary(self) -> bool:
        return self.status in TEMPORARY or self.code == OFFLINE


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would send the token to another server."""

    def redirect_request(self, *_: object) -> None:
        return None


Headers = Callable[[], Mapping[str, str]]
"""What proves to the registry who asks; called for each request."""


def bearer(token: str | None) -> Headers:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return lambda: headers


class RegistryClient:
    def __init__(self, url: str, proof: str | Headers | None) -> None:
        """`url` is https://…, or http://… on this machine; `proof` is a bearer token, or headers. Raises Refused."""
        self.url = url.rstrip("/")
        check_address(self.url)
        self._proof = proof if callable(proof) else bearer(proof)
        self._opener = opener(self.url)

    async def register(self, environment_id: str, keys: PublicKeys, name: str) -> Registered:
        """Raises RegistryRefused, or OSError if the registry does not answer."""
        body = Register(PROFILE, public_key_object(keys))
        headers = {NAME_HEADER: name} if name else {}
        answer = await self._post(environment_id, "register", body, Registered, headers)
        if answer.environment_id != environment_id or answer.security_profile != PROFILE:
            raise RegistryRefused(200, "mismatch", "its answer is for another environment or profile")
        return answer

    async def validate(
        self, environment_id: str, registration_id: str, harness: PublicKeys, authorization: str
    ) -> bool:
        """Whether this harness may connect. Raises RegistryRefused or OSError."""
        body = Validate(registration_id, public_key_object(harness), authorization)
        return (await self._post(environment_id, "validate", body, Validated, {})).valid

    async def connect(self, environment_id: str, keys: PublicKeys) -> Connected:
        """Raises RegistryRefused or OSError."""
        answer = await self._post(environment_id, "connect", Connect(public_key_object(keys)), Connected, {})
        if answer.environment_id != environment_id or answer.security_profile != PROFILE:
            raise RegistryRefused(200, "mismatch", "its answer is for another environment or profile")
        return answer

    async def environments(self) -> list[EnvironmentEntry]:
        """Only our own registry has this list. Raises RegistryRefused or OSError."""
        request = urllib.request.Request(f"{self.url}/environments", headers={**PLAIN, **self._proof()})
        return _decoded(await in_thread(self._fetch, request), EnvironmentList).environments

    async def _post(
        self, environment_id: str, what: str, body: object, kind: type[Answer], headers: dict[str, str]
    ) -> Answer:
        url = f"{self.url}{BASE}/{quote(environment_id, safe='')}/{what}"
        headers = {**PLAIN, **self._proof(), **headers}
        request = urllib.request.Request(url, msgspec.json.encode(body), headers, method="POST")
        return _decoded(await in_thread(self._fetch, request), kind)

    def _fetch(self, request: urllib.request.Request) -> bytes:
        try:
            with self._opener.open(request, timeout=SECONDS) as answer:
                return bytes(answer.read(MAX_BODY_BYTES))
        except urllib.error.HTTPError as exc:
            with exc:
                _refused(exc.code, exc.read(MAX_BODY_BYTES))
        except urllib.error.URLError as exc:
            raise ConnectionError(f"the registry {self.url} {_problem(exc.reason)}") from exc
        except http.client.HTTPException as exc:
            raise ConnectionError(f"the registry {self.url} does not speak HTTP: {exc!r}") from exc


def check_address(url: str) -> None:
    """Raises Refused if secrets must not be sent there."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise Refused(f"cannot use the registry {url!r}: its address looks like https://relay.example.com")
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        raise Refused(f"cannot use {url}: the token could be read on the way; use https, or a registry on 127.0.0.1")


def opener(url: str) -> urllib.request.OpenerDirector:
    """Follows no redirects, and uses no proxy on this machine."""
    handlers: list[urllib.request.BaseHandler] = [_NoRedirects()]
    if is_loopback(urlsplit(url).hostname or ""):
        handlers.append(urllib.request.ProxyHandler({}))
    return urllib.request.build_opener(*handlers)


def _problem(reason: object) -> str:
    if isinstance(reason, ssl.SSLCertVerificationError):
        return (
            f"has a certificate that is not trusted here: {reason.verify_message}; "
            "set SSL_CERT_FILE to a file with its issuer's certificate"
        )
    if isinstance(reason, ssl.SSLError):
        return f"does not speak HTTPS, or not as expected: {reason.reason}"
    return f"does not answer: {(isinstance(reason, OSError) and reason.strerror) or reason}"


def _refused(status: int, body: bytes) -> NoReturn:
    try:
        error = msgspec.json.decode(body, type=Failed).error
    except UNREADABLE:
        raise RegistryRefused(status, "", "it gave no reason") from None
    raise RegistryRefused(status, error.code, error.message)


def _decoded(body: bytes, kind: type[Answer]) -> Answer:
    try:
        return msgspec.json.decode(body, type=kind)
    except UNREADABLE as exc:
        raise RegistryRefused(200, "unreadable", f"its answer cannot be read: {exc}") from exc

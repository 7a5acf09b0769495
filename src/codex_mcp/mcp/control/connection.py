"""One connection to the control socket: `control/hello`, then an MCP session for each principal it acts for.

No session has elicitation: what Codex asks is answered elsewhere. A connection that does not say hello is closed.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import Final

import msgspec

from codex_mcp import __version__
from codex_mcp.base.errors import Refused
from codex_mcp.base.logs import Subject, about_only
from codex_mcp.base.principals import LOCAL, account
from codex_mcp.mcp.control.attach.relay import Relay, attached
from codex_mcp.mcp.control.attach.rules import Level
from codex_mcp.mcp.control.attach.who import Who
from codex_mcp.mcp.control.following import Following
from codex_mcp.mcp.control.forwarded import Forwarded
from codex_mcp.mcp.control.inside import Inside
from codex_mcp.mcp.control.questions import Questions
from codex_mcp.mcp.eras import Handshake
from codex_mcp.mcp.methods import handle_notification
from codex_mcp.mcp.session import ID_BYTES, Session, SessionOrigin
from codex_mcp.rpc.errors import invalid_params, request_failed
from codex_mcp.rpc.peer import Handlers, Peer
from codex_mcp.rpc.watched import watched
from codex_mcp.team.roster import Member
from codex_mcp.transports.local.channel import MIB, Bounds, LocalChannel
from codex_mcp.transports.websockets.channel import SocketChannel
from codex_mcp.wire import control, hop, mcp
from codex_mcp.wire.jsonrpc import INVALID_REQUEST, Notification, Request

MOST_REQUESTS: Final = 64
"""Open requests of one connection."""

MOST_SESSIONS: Final = 64
"""Principals that one connection acts for."""

HELLO_PATIENCE: Final = 10.0
"""Seconds from connecting to `control/hello`."""

OF_A_SERVER: Final = Bounds(message_bytes=64 * MIB)
"""A prompt may bring pictures. Nothing that a turn tells its client is left out."""

OF_A_TUI: Final = Bounds(message_bytes=16 * MIB, behind_bytes=4 * MIB, version_required=False)
"""A prompt may bring pictures. A TUI that misses a notification would show something wrong: it connects again."""

READING: Final = frozenset(
    {
        "ping",
        "tools/list",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        control.ATTACH,
        control.FOLLOW,
        control.QUESTION,
        control.SIGN_IN,
        control.STEPS,
    }
)
"""What a connection that may only read may call, besides tools that change nothing."""

OF_FAR_SERVER: Final = frozenset({control.HELLO, "ping", hop.FORWARD, hop.WHOSE})
"""What a server of another machine may call: it answers for its clients, and is no person."""


class ControlConnection:
    def __init__(
        self,
        channel: LocalChannel | SocketChannel,
        inside: Inside,
        greeting: Callable[[control.Hello], control.Greeting],
        of: str | None = None,
    ) -> None:
        """`of`: the node of a server on another machine, which has proved that it is of our cluster."""
        self._of = of
        self._id = os.urandom(ID_BYTES).hex()
        self._channel = channel
        self._inside = inside
        self._greeting = greeting
        self._hello: control.Hello | None = None
        self._relay: Relay | None = None
        self._sessions: dict[str, Session] = {}
        handlers = Handlers(self._request_received, self._notification_received)
        self._peer = Peer(watched(channel, "control"), handlers, max_requests=MOST_REQUESTS)
        self._questions = Questions(inside.team, inside.threads.board, self._may_see)
        self._following = Following(self._peer.notify, inside, self._questions, self._may_see, self._principal)
        self._forwarded = Forwarded(self._peer, inside, self._may_see)
        self._own = {
            control.HELLO: self._hello_received,
            control.FOLLOW: self._following.follow,
            control.QUESTION: self._questions.question,
            control.ANSWER: self._answer_received,
            control.ATTACH: self._attach_received,
            control.DELIVER: self._deliver_received,
            control.SIGN_IN: self._sign_in_received,
            control.STEPS: self._following.transcripts.steps,
            hop.FORWARD: self._forwarded.request_received,
            hop.WHOSE: self._forwarded.whose_received,
        }

    @property
    def is_of_server(self) -> bool:
        """Another server of the folder forwards requests of its clients."""
        return self._hello is not None and bool(self._hello.node)

    def __repr__(self) -> str:
        return f"<Connection {self._id} of {self._hello}>"

    async def run(self) -> None:
        """Serve until the other end is gone."""
        late = asyncio.get_running_loop().call_later(HELLO_PATIENCE, self._hello_missed)
        try:
            with about_only(Subject(self._id, account(LOCAL))):
                await self._peer.run()
        finally:
            late.cancel()
            await self.aclose()

    async def aclose(self) -> None:
        if self._relay is not None:
            self._relay.close()
        self._following.stop()
        await self._peer.aclose()
        for session in self._sessions.values():
            self._inside.tools.caller_left(session.caller, session.client.name)
            session.close()
        self._sessions.clear()
        self._forwarded.close()

    def _hello_missed(self) -> None:
        if self._hello is None:
            self._channel.abort()

    def _may_see(self, principal: str) -> bool:
        return self._hello is not None and self._hello.principal in (None, principal)

    def _principal(self) -> str | None:
        return None if self._hello is None else self._hello.principal

    def _request_received(self, request: Request) -> object:
        if self._relay is not None:
            return self._relay.request_received(request)
        if self._hello is None and request.method != control.HELLO:
            raise request_failed(control.HELLO_FIRST, f"send {control.HELLO} first")
        try:
            self._check_allowed(request)
            own = self._own.get(request.method)
            if own is not None:
                return own(request)
            meta = msgspec.json.decode(request.params, type=control.AnyParams).meta
            session = self._session(meta)
            if request.method == "tools/call":
                self._note(msgspec.json.decode(request.params, type=mcp.CallTool), session.principal, meta)
        except msgspec.MsgspecError as exc:
            raise invalid_params(str(exc)) from exc
        return self._inside.methods.handle(session, request, Handshake())

    def _notification_received(self, message: Notification) -> None:
        if self._forwarded.notification_received(message):
            return
        for session in self._sessions.values():
            handle_notification(session, message)

    def _hello_received(self, request: Request) -> object:
        hello = msgspec.json.decode(request.params, type=control.Hello)
        if self._hello is not None:
            raise request_failed(INVALID_REQUEST, f"{control.HELLO} came twice")
        if hello.protocol != control.PROTOCOL:
            older = "this server" if hello.protocol > control.PROTOCOL else f"{hello.program or 'the client'}"
            raise request_failed(
                control.OTHER_PROTOCOL,
                f"this server (codex-mcp {__version__}) speaks protocol {control.PROTOCOL} of the control socket, and "
                f"the client (codex-mcp {hello.version}) protocol {hello.protocol}; upgrade {older} and restart it",
                {"protocol": control.PROTOCOL, "version": __version__},
            )
        if self._of not in (None, hello.node):
            raise request_failed(control.NOT_ALLOWED, f"this connection is that of node {self._of}")
        self._hello = hello
        if hello.node:
            self._peer.accept_up_to(hop.MOST_REQUESTS)
            if isinstance(self._channel, LocalChannel):
                self._channel.widen(OF_A_SERVER)
        return self._greeting(hello)

    def _answer_received(self, request: Request) -> object:
        assert self._hello is not None
        return self._questions.answer(request, self._hello)

    def _deliver_received(self, request: Request) -> object:
        asked, hello, team = msgspec.json.decode(request.params, type=control.Deliver), self._hello, self._inside.team
        assert hello is not None
        member = self._member(asked.agent)
        try:
            team.injection.schedule.deliver_now(member)
        except Refused as exc:
            raise request_failed(INVALID_REQUEST, str(exc)) from exc
        acts_for = control.ActsFor(principal=member.agent.principal, person=hello.person, via=hello.program)
        team.note_person("deliver mail", asked.agent, acts_for)
        return {}

    async def _attach_received(self, request: Request) -> object:
        asked, hello = msgspec.json.decode(request.params, type=control.Attach), self._hello
        assert hello is not None
        assert isinstance(self._channel, LocalChannel)
        level = Level.WATCH if asked.read_only or hello.view else Level.CONTROL
        member = self._member(asked.agent)
        relay, told = await attached(self._peer, self._inside, member, Who(hello.person, hello.program, level))
        if self._relay is not None:
            relay.close()
            raise request_failed(INVALID_REQUEST, f"{control.ATTACH} came twice")
        self._relay = relay
        self._channel.widen(OF_A_TUI)
        relay.when_gone(self._channel.abort)
        acts_for = control.ActsFor(principal=member.agent.principal, person=hello.person, via=hello.program)
        self._inside.team.note_person(f"attach ({level})", member.agent.codex_id, acts_for)
        return told

    def _member(self, codex_id: str) -> Member:
        """Raises RequestFailed, the same for that of another principal."""
        for each in self._inside.team.roster:
            if each.agent.codex_id == codex_id and self._may_see(each.agent.principal):
                return each
        raise invalid_params(f"this server runs no agent {codex_id[:100]}")

    def _sign_in_received(self, request: Request) -> object:
        asked, hello, pages = msgspec.json.decode(request.params, type=control.SignIn), self._hello, self._inside.pages
        assert hello is not None
        if pages is None or not pages.url:
            raise request_failed(control.UNAVAILABLE, "this server serves no dashboard")
        if hello.principal is not None:
            raise request_failed(control.NOT_ALLOWED, f"this connection acts for {hello.principal} only")
        view = asked.view or hello.view
        url, seconds = pages.sign_in(hello.person, view=view, writes_as=asked.writes_as)
        return control.SignInLink(url, seconds)

    def _check_allowed(self, request: Request) -> None:
        """Raises RequestFailed for what a connection that only reads, or is of another machine, may not do."""
        if self._of is not None and request.method not in OF_FAR_SERVER:
            raise request_failed(control.NOT_ALLOWED, "a server of another machine only has calls answered here")
        if self._hello is None or not self._hello.view or request.method in READING:
            return
        tool = msgspec.json.decode(request.params, type=mcp.CallTool).name if request.method == "tools/call" else ""
        if tool not in self._inside.reading_tools:
            raise request_failed(control.NOT_ALLOWED, "this connection may only read")

    def _note(self, call: mcp.CallTool, principal: str, meta: control.Meta | None) -> None:
        """Write into the audit who changes something."""
        assert self._hello is not None
        if call.name not in self._inside.reading_tools:
            said = meta.acts_for if meta is not None else None
            person, via = (said.person, said.via) if said is not None else ("", "")
            acts_for = control.ActsFor(
                principal=principal, person=person or self._hello.person, via=via or self._hello.program
            )
            about = (call.arguments or {}).get("id")
            self._inside.team.note_person(call.name, about if isinstance(about, str) else "", acts_for)

    def _session(self, meta: control.Meta | None) -> Session:
        """That of the principal for whom the request is made."""
        assert self._hello is not None
        acts_for = None if meta is None else meta.acts_for
        principal = acts_for.principal if acts_for is not None else self._hello.principal or LOCAL
        if not self._may_see(principal):
            raise request_failed(control.NOT_ALLOWED, f"this connection acts for {self._hello.principal} only")
        if principal not in self._sessions:
            if len(self._sessions) >= MOST_SESSIONS:
                raise request_failed(control.NOT_ALLOWED, f"a connection acts for {MOST_SESSIONS} principals at most")
            self._sessions[principal] = self._opened(self._hello, principal)
        return self._sessions[principal]

    def _opened(self, hello: control.Hello, principal: str) -> Session:
        is_whole = hello.principal is None and not hello.view
        caller = f"control {self._id} {principal}"
        origin = SessionOrigin(principal, self._id, caller, administers=lambda: is_whole, is_view=hello.view)
        session = Session(self._peer, self._inside.tools, self._inside.calls, origin)
        session.client.introduce(mcp.ClientInfo(hello.program, hello.version), {})
        return session

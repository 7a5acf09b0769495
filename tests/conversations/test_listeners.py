"""Each listener gets every event of its conversation between its begin and its end, whatever others do."""

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, multiple, rule

from codex_mcp.conversations.listeners import MOST, Listener, Listeners

OWNERS = ("alice", "bob")
CONVERSATIONS = ("one", "two")


class Client:
    """One connection of an owner."""

    def __init__(self, owner: str) -> None:
        self.owner = owner


class FanOut(RuleBasedStateMachine):
    """Random listeners and events, beside the simplest model of who must hear what."""

    clients = Bundle("clients")
    listeners = Bundle("listeners")

    def __init__(self) -> None:
        super().__init__()
        self.tested: Listeners[Client] = Listeners()
        self.heard: dict[str, list[int]] = {}
        self.expected: dict[str, list[int]] = {}
        self.alive: dict[str, Listener[Client]] = {}
        self.events = 0

    @rule(target=clients, owner=st.sampled_from(OWNERS))
    def connect(self, owner: str) -> Client:
        return Client(owner)

    @rule(target=listeners, client=clients, conversation=st.sampled_from(CONVERSATIONS))
    def listen(self, client: Client, conversation: str) -> object:
        listener = Listener(str(len(self.heard)), client.owner, conversation, client)
        before = [
            each for each in self.alive.values() if (each.owner, each.conversation) == (client.owner, conversation)
        ]
        assert self.tested.add(listener) is (len(before) < MOST)
        self.heard[listener.id], self.expected[listener.id] = [], []
        if len(before) == MOST:
            return multiple()
        self.alive[listener.id] = listener
        return listener

    @rule(listener=listeners, owner=st.sampled_from(OWNERS))
    def stop_listening(self, listener: Listener[Client], owner: str) -> None:
        is_own = listener.id in self.alive and listener.owner == owner
        assert self.tested.remove(owner, listener.id) is (listener if is_own else None)
        if is_own:
            del self.alive[listener.id]

    @rule(client=consumes(clients))
    def disconnect(self, client: Client) -> None:
        gone = {listener.id for listener in self.tested.caller_gone(client)}
        assert gone == {each.id for each in self.alive.values() if each.caller is client}
        self.alive = {key: each for key, each in self.alive.items() if key not in gone}

    @rule(owner=st.sampled_from(OWNERS), conversation=st.sampled_from(CONVERSATIONS))
    def forget(self, owner: str, conversation: str) -> None:
        self.tested.conversation_gone(owner, conversation)
        here = (owner, conversation)
        self.alive = {key: each for key, each in self.alive.items() if (each.owner, each.conversation) != here}

    @rule(conversation=st.sampled_from(CONVERSATIONS))
    def happen(self, conversation: str) -> None:
        self.events += 1
        for owner in OWNERS:
            for listener in self.tested.of(owner, conversation):
                self.heard[listener.id].append(self.events)
        for key, each in self.alive.items():
            if each.conversation == conversation:
                self.expected[key].append(self.events)

    @invariant()
    def everyone_heard_everything_once(self) -> None:
        assert self.heard == self.expected
        assert len(self.tested) == len(self.alive)

    @invariant()
    def all_owners_are_found(self) -> None:
        for conversation in CONVERSATIONS:
            found = {listener.id for listener in self.tested.to(conversation)}
            assert found == {key for key, each in self.alive.items() if each.conversation == conversation}


TestFanOut = FanOut.TestCase

"""The `codex/event` stream of 0.153.4.

In go the app-server's typed notifications and questions, or the events of an old Codex; out come the events that
clients are shown. Start reading with `translator`; the other modules each make the events of one subject.
"""

"""Requests about one conversation that are more than a call: its goal (`goals`), dropping turns (`rollback`), and
turns that its file has lost (`recorded_turns`), threads that Codex hides behind it (`hidden_threads`)."""

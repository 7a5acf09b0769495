"""Requests about one conversation that are more than a call: its goal (`goals`), and dropping turns (`rollback`)."""

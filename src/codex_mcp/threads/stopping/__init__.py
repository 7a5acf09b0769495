"""Stopping turns: the turn itself, the commands that it leaves running, and the folders that those leave behind.

Start with `stopper`. `unasked` stops what Codex does without a prompt: goals, and the turns of sub-agents.
"""

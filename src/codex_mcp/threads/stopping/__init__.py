"""Stopping turns: the turn itself, the commands that it leaves running, and the folders that those leave behind.

Start with `stopper`.
"""

"""Conversations on disk. Start with `history`; `paging` and `cursors` decide what is on a page of the list."""

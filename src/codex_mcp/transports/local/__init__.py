"""Unix sockets: their files, and messages on them, one per line."""

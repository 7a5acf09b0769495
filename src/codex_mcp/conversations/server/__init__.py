"""Methods about the server rather than a conversation: sign-in, configuration, commands, files."""

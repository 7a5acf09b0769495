"""The standard features of MCP besides tools: prompts, resources, completion, log messages. Start with `table`."""

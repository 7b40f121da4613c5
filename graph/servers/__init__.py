"""Tools of other MCP servers: configured, connected, known by definitions that a person has accepted, and called."""

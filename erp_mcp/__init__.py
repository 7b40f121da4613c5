"""The ERP: reads, and writes that a person signs first, over MCP or in process."""

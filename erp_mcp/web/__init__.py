"""The ERP over HTTP: MCP and REST on one port."""

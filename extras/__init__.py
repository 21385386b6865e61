"""What one can do without: audits, demo, MCP servers, embedded planner, PostgreSQL, the page, workers."""

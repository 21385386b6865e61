"""PostgreSQL as the store: the same tables, the same SQL and the same jobs, for any number of hosts."""

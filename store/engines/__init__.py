"""What a store is kept in: one protocol for what differs, and SQLite behind it."""

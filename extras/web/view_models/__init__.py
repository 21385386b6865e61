"""What the pages show, as plain values made by pure functions of records and events."""

"""Mail: reading a mailbox, drafts, and sending."""

"""What keeps secrets in and strangers out: redaction, egress, the jail of the workspace, tokens."""

"""What people have decided: gates, approvals that last, delegations."""

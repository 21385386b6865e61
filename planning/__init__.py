"""What a plan has to pass before it may run: rules, verification, order, estimate."""

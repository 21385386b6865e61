"""What commands do that change something."""

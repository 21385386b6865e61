"""What commands show; they only read."""

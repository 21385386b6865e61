"""What the commands `sessions` and `worker` show."""

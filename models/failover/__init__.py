"""What happens when a provider fails: classes of failure, other keys, other providers."""

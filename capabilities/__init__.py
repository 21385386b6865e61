"""What the agent can do: the contract, the registry, the policy and the gateway."""

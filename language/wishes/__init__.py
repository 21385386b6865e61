"""What a user wishes: the sentences of a request that are recognised as a wish, and no others."""

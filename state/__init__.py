"""What travels through the graph: the states of graph, loop, lane and chain, and one invocation."""

"""The nodes of the graph, one a file: a factory, one async function, and its decision beside it."""

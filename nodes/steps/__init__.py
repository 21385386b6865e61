"""Nodes that carry out the steps of a plan, each in order or in a lane of its own."""

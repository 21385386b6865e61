"""Nodes that plan: task, planner, verification, the gate of the plan."""

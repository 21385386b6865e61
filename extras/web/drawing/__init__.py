"""Pictures as SVG, drawn on the server by pure functions: a plan and its states, amounts as bars."""

"""Reading replies: streams, structured output, tools in words."""

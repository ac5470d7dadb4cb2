"""`kebab mcp`: search for agents, over the Model Context Protocol."""

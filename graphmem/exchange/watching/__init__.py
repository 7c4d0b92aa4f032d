"""A client that records what passes through it, and the file in which that waits for the graph."""

"""What graphmem needs of a model: `chat` (a message in, a completion out) and `tokens` (how long a text is)."""

"""What graphmem needs of a model: `chat` (messages in, a completion out), `openai_chat` (one behind an
OpenAI-compatible endpoint), `tokens` (how long a text is).
"""

"""What graphmem needs of a model: `chat` (messages in, a completion out), `openai_chat` (a model behind an endpoint that
speaks OpenAI's API) and `tokens` (how long a text is).
"""

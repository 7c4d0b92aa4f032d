"""Other programs' ways in: the Model Context Protocol.

Each integration is a room of its own behind an extra of its own, thin over the API that every other caller uses.
"""

"""Three small protocols towards models, and their forms: `chat` and `tokens`. Nothing is imported until it is used."""

"""Tokens against recall: what prompts would show of recorded runs."""

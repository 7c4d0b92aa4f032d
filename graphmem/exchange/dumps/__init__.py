"""Tasks as files of JSON Lines: written, checked and brought back."""

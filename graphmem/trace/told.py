"""What the steps about a summary say of it: its text, verdict and note at any time (MAGE, Algorithm 1, lines 24-43).

Pure. Invariant: folding every step gives what the summary caches.
"""

from collections.abc import Iterable, Mapping
from typing import Any


def told(steps: Iterable[Mapping[str, Any]]) -> tuple[str, str, str | None] | None:
    """Text, verdict and note after these steps, in their order; None when none gave a text (that of a copy is cached).

    A new text makes the verdict unchecked again; a verdict counts while the text that it judged is the present one.
    """
    text, verdict, note, written = "", "unchecked", None, None
    for step in steps:
        if step["kind"] == "maintain":
            if step["of_step"] == written:
                verdict, note = step["verdict"], step["note"]
            continue
        if step["text"] is not None:
            text, verdict, note, written = step["text"], "unchecked", None, step["number"]
        if step["kind"] == "revise":
            verdict, note = "failed", step["note"]
    return None if written is None else (text, verdict, note)

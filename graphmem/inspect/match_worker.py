"""A process of its own that applies one regular expression, so that a pattern that runs away ends it and nothing else.

It is run by its path, imports nothing but the standard library, and speaks lines of JSON: first the pattern, then lists
of texts, each answered with the places of the matches. Invariant: no list takes more processor time than it was given,
also when whoever asked is gone.
"""

import json
import re
import signal
import sys


def places(pattern: re.Pattern[str], text: str, most: int) -> list[tuple[int, int]]:
    """Begin and end of the first match of each line, of at most so many lines."""
    found: list[tuple[int, int]] = []
    at = 0
    while at <= len(text) and len(found) < most:
        match = pattern.search(text, at)
        if match is None:
            break
        found.append(match.span())
        line_end = text.find("\n", match.end())
        at = len(text) + 1 if line_end < 0 else line_end + 1
    return found


def _limited(seconds: float) -> None:
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds)  # at its end the system ends this process


def _answer(plain: object) -> None:
    sys.stdout.write(json.dumps(plain) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Answer until nobody asks."""
    given = json.loads(sys.stdin.readline())
    seconds = float(given["seconds"])
    _limited(seconds)
    try:
        pattern = re.compile(given["pattern"], re.MULTILINE | (re.IGNORECASE if given["ignore_case"] else 0))
    except (re.error, OverflowError, RecursionError) as error:
        _answer({"fault": str(error)})
        return
    _limited(0)
    _answer({"fault": None})
    for line in sys.stdin:
        most, texts = json.loads(line)
        _limited(seconds)
        found = [places(pattern, text, most) for text in texts]
        _limited(0)
        _answer(found)


if __name__ == "__main__":
    main()

"""How many tokens a text is.

Owns the choice of a tokenizer that needs no network: tiktoken where its vocabulary lies on this machine already, else
bpe-openai, which brings the same vocabulary along, else an estimate that says so. Both are optional, imported on use.
Invariant: counting never raises; the names of special tokens in a text count as the plain text that they are.
"""

import functools
import hashlib
import os
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

# What tiktoken itself looks for: were the file absent or another one, it would ask the network.
_VOCABULARY_URL: Final = "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"
_VOCABULARY_SHA256: Final = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
_BYTES_PER_TOKEN: Final = 4


class Tokenizer(Protocol):
    """Counts the tokens of a text; `exact` is False for an estimate."""

    @property
    def name(self) -> str:
        """What counts, for the heading of a table."""
        ...

    @property
    def exact(self) -> bool:
        """Whether the count is the model's own."""
        ...

    def count(self, text: str) -> int:
        """The number of tokens of the text."""
        ...


@dataclass(frozen=True, slots=True)
class _Counter:
    name: str
    exact: bool
    counts: Callable[[str], int]

    def count(self, text: str) -> int:
        # The vocabularies know bytes of UTF-8 only, and a lone surrogate has none.
        return self.counts(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


def estimate() -> Tokenizer:
    """A tokenizer that needs nothing: a token for every four bytes of UTF-8."""
    return _Counter("estimate", False, lambda text: -(-len(text.encode()) // _BYTES_PER_TOKEN))


@functools.cache
def o200k() -> Tokenizer:
    """The best counter of o200k_base that this machine has without the network; else an estimate."""
    counts = _tiktoken() or _bpe_openai()
    return _Counter("o200k_base", True, counts) if counts else estimate()


class WhenUsed:
    """`o200k()`, found at the first count: loading a vocabulary takes a second that few callers need."""

    @property
    def name(self) -> str:
        """The name of the vocabulary, or `estimate`."""
        return o200k().name

    @property
    def exact(self) -> bool:
        """Whether the count is the model's own."""
        return o200k().exact

    def count(self, text: str) -> int:
        """The number of tokens of the text."""
        return o200k().count(text)


def _tiktoken() -> Callable[[str], int] | None:
    if not _has_vocabulary():
        return None
    try:
        import tiktoken
    except ImportError:
        return None
    encoding = tiktoken.get_encoding("o200k_base")
    return lambda text: len(encoding.encode_ordinary(text))


def _bpe_openai() -> Callable[[str], int] | None:
    # Its tiktoken-like front refuses more than 200,000 tokens at once; what stands behind it does not.
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # it opens its own data in a way that Python retires
            from bpe_openai._bindings import tokenizer_for_encoding
    except ImportError:
        return None
    tokenizer = tokenizer_for_encoding("o200k_base")
    return lambda text: int(tokenizer.count(text))


def _has_vocabulary() -> bool:
    """Whether tiktoken's own cache holds the right file, by the rules with which tiktoken looks for it."""
    folder = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    if folder == "":
        return False
    path = Path(folder or Path(tempfile.gettempdir()) / "data-gym-cache")
    try:
        data = (path / hashlib.sha1(_VOCABULARY_URL.encode(), usedforsecurity=False).hexdigest()).read_bytes()
    except OSError:
        return False
    return hashlib.sha256(data).hexdigest() == _VOCABULARY_SHA256

"""Counting tokens offline: the same ids whichever package counts, and never an error."""

import gzip
import hashlib
import importlib.resources
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from graphmem.llm import tokens

# Counts of o200k_base, known from tiktoken 0.14.
KNOWN = {
    "": 0,
    "Hello, world!": 4,
    "tiktoken is great!": 6,
    "你好，世界": 3,
    "don't I'LL we've": 4,
    "<|endoftext|>": 7,
    "a" * 5000: 625,
    "  \n\n\t x  \r\n ": 5,
}
TEXTS = [
    *KNOWN,
    "Привет, мир! Ça va? नमस्ते दुनिया",
    "العربية ‏ 👩‍👩‍👧‍👦 é é",
    '[{"state_id": "hotel-a", "value": {"price": 1.50}}]\n</state_delta>',
    "12345678901234567890 3.14159 1e-9",
    "<|im_start|>system<|im_end|></s><|endofprompt|>",
    "日本語のテキスト、한국어 텍스트, ไทย",
    "\x00\x01\u2028",
]


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    tokens.o200k.cache_clear()
    yield
    tokens.o200k.cache_clear()


@pytest.fixture
def without_vocabulary(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))


@pytest.fixture
def with_vocabulary(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    assert tokens._bpe_openai() is not None  # imported here, where its warning is silenced
    packed = importlib.resources.files("bpe_openai") / "data" / "o200k_base.tiktoken.gz"
    path = tmp_path / hashlib.sha1(tokens._VOCABULARY_URL.encode()).hexdigest()
    path.write_bytes(gzip.decompress(packed.read_bytes()))
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    return path


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a tokenizer asked the network")

    monkeypatch.setattr("socket.socket.connect", refuse)
    monkeypatch.setattr("socket.getaddrinfo", refuse)


@pytest.mark.parametrize(("text", "count"), KNOWN.items())
@pytest.mark.usefixtures("without_vocabulary", "no_network")
def test_bpe_openai_counts_what_is_known_of_o200k(text: str, count: int) -> None:
    assert tokens.o200k().count(text) == count


@pytest.mark.usefixtures("with_vocabulary", "no_network")
def test_both_packages_count_the_same() -> None:
    real = tokens._tiktoken()
    ours = tokens._bpe_openai()
    assert real is not None
    assert ours is not None
    assert [ours(text) for text in TEXTS] == [real(text) for text in TEXTS]


@pytest.mark.usefixtures("with_vocabulary", "no_network")
def test_tiktoken_counts_where_its_vocabulary_is_at_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "_bpe_openai", lambda: None)
    assert (tokens.o200k().name, tokens.o200k().exact) == ("o200k_base", True)
    assert tokens.o200k().count("Hello, world!") == 4


@pytest.mark.usefixtures("no_network")
def test_a_damaged_vocabulary_is_neither_used_nor_fetched_again(with_vocabulary: Path) -> None:
    with_vocabulary.write_bytes(b"damaged")
    assert tokens._tiktoken() is None
    assert with_vocabulary.read_bytes() == b"damaged"


@pytest.mark.usefixtures("with_vocabulary", "no_network")
def test_a_cache_that_is_switched_off_is_no_vocabulary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    assert tokens._tiktoken() is None


@pytest.mark.usefixtures("no_network")
def test_the_older_name_of_the_cache_folder_counts_too(monkeypatch: pytest.MonkeyPatch, with_vocabulary: Path) -> None:
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR")
    monkeypatch.setenv("DATA_GYM_CACHE_DIR", str(with_vocabulary.parent))
    assert tokens._tiktoken() is not None


@pytest.mark.usefixtures("without_vocabulary")
def test_without_either_package_the_count_is_labelled_an_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    monkeypatch.setitem(sys.modules, "bpe_openai._bindings", None)
    counter = tokens.o200k()
    assert (counter.name, counter.exact) == ("estimate", False)
    assert (counter.count(""), counter.count("abcde"), counter.count("\ud800")) == (0, 2, 1)


@pytest.mark.usefixtures("with_vocabulary")
def test_a_vocabulary_without_the_package_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    assert tokens.o200k().exact


@pytest.mark.usefixtures("without_vocabulary")
@pytest.mark.parametrize("text", ["\ud800x", "\udfff", "a\ud83d"])
def test_a_lone_surrogate_is_counted_and_raises_nothing(text: str) -> None:
    assert tokens.o200k().count(text) > 0
    assert tokens.estimate().count(text) > 0


@pytest.mark.usefixtures("without_vocabulary")
def test_a_text_of_millions_of_characters_is_counted_whole() -> None:
    assert tokens.o200k().count("hello world " * 200_000) == 2 * 200_000 + 1

"""Whether a tool changes something, by its name alone: the first verb in it decides.

Owns the two closed sets of verbs. Invariant: a name without a verb of either set counts as reading.
"""

from typing import Final

from graphmem.exchange.results import words

WRITING: Final = frozenset(
    """
    activate add adjust append apply approve archive assign book buy cancel cd change close commit copy cp create
    deactivate delete deploy disable edit enable enroll exchange execute export fill fund generate insert install issue
    lock login make mark merge mkdir modify move mv open order pay place post press publish purchase push put record
    refund register release remove rename replace reply reserve reset resolve restore retweet return rm rmdir save
    schedule send set setup sign start stop submit touch transfer trigger undo unlock update upload upgrade withdraw
    write
    """.split()  # noqa: SIM905  # a list of a hundred strings is not easier to read
)
READING: Final = frozenset(
    """
    calculate check compute count describe detail diff display echo estimate fetch find get grep has is list lookup look
    ls preview query read retrieve scroll search see select show sort tail think verify view
    """.split()  # noqa: SIM905  # as above
)


def is_write(tool: str) -> bool:
    """Whether calls of this tool change something: `book_hotel` and `api.orders.cancelOrder` do, `get_booking` not."""
    for word in words(tool.rpartition(".")[2]):
        if word in READING or word in WRITING:
            return word in WRITING
    return False

"""What a revise does to states (the join of MAGE's Revise with FlowState's S): a table of kind × change × world.

Pure. A run that goes back to a boundary leaves what was concluded after it and keeps what the user said; what tools
found and made stays where the world is as it was left, since they really ran.

| kind                                | added since     | changed since        | removed since         |
|-------------------------------------|-----------------|----------------------|-----------------------|
| preference                          | stays           | stays                | returns               |
| judgement                           | leaves          | the boundary's value | returns               |
| knowledge, attribute, unchanged     | stays           | stays                | returns               |
| artifact, unchanged                 | stays, listed   | stays, listed        | stays removed, listed |
| all but preferences, restored       | leaves (1)      | the boundary's (1)   | returns               |

(1) but for what is not a judgement, cites raw results, and all of them are on the path: that stays.
Invariant: at most one version of an id comes out; where a surviving and a returning one want it, the survivor has it.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from graphmem.state.values import Value
from graphmem.trace.values import StateVersion, World
from graphmem.vocabulary import StateKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Returning(Value):
    """A version of the boundary that comes back; `previous`: the key of the newest version of its lineage."""

    version: StateVersion
    previous: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Restoration(Value):
    """Which versions end and which return; ids as in `Revised`."""

    ends: tuple[StateVersion, ...] = ()
    returning: tuple[Returning, ...] = ()
    kept: tuple[str, ...] = ()
    stays_removed: tuple[str, ...] = ()
    clashes: tuple[str, ...] = ()

    @property
    def returned(self) -> tuple[str, ...]:
        """Ids whose value of the boundary is back."""
        return tuple(item.version.id for item in self.returning)

    @property
    def left(self) -> tuple[str, ...]:
        """Ids that are out of view."""
        back = set(self.returned)
        return tuple(version.id for version in self.ends if version.id not in back)

    def more(self, request: int) -> int:
        """How many states of a request are in view that were not (negative: that were and are not)."""
        back = sum(item.version.request == request for item in self.returning)
        return back - sum(version.request == request for version in self.ends)


def restoration(versions: Iterable[StateVersion], *, back: int, world: World) -> Restoration:
    """What going back to step `back` does to the versions that began or ended since."""
    lineages: dict[str, list[StateVersion]] = {}
    for version in sorted(versions, key=lambda v: (v.born, v.position, v.from_step)):
        lineages.setdefault(version.lineage, []).append(version)
    ends: list[StateVersion] = []
    returning: list[Returning] = []
    survivors: set[str] = set()
    kept: list[str] = []
    stays_removed: list[str] = []
    for lineage in lineages.values():
        then = next((v for v in lineage if v.from_step <= back and (v.to_step is None or v.to_step > back)), None)
        now = next((v for v in lineage if v.to_step is None), None)
        if now is not None and _stays(now, world):
            survivors.add(now.id)
            if now.kind is StateKind.ARTIFACT and world is World.UNCHANGED:
                kept.append(now.id)
            continue
        if now is not None:
            ends.append(now)
        if then is not None and (now is not None or _returns(then, world)):
            returning.append(Returning(version=then, previous=lineage[-1].key))
        elif then is not None:
            stays_removed.append(then.id)
    return Restoration(
        ends=tuple(ends),
        returning=tuple(item for item in returning if item.version.id not in survivors),
        kept=tuple(kept),
        stays_removed=tuple(stays_removed),
        clashes=tuple(item.version.id for item in returning if item.version.id in survivors),
    )


def _stays(now: StateVersion, world: World) -> bool:
    """Whether a version that began since the boundary stays in view."""
    if now.kind is StateKind.PREFERENCE:
        return True
    if now.kind is StateKind.JUDGEMENT:
        return False
    return world is World.UNCHANGED or now.rests_on_path


def _returns(then: StateVersion, world: World) -> bool:
    """Whether a state that was removed since the boundary is in view again."""
    return world is World.RESTORED or then.kind is not StateKind.ARTIFACT

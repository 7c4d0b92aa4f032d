"""How random runs of the state machines are drawn: the fixed ones of the suite, and others in the soak."""

from hypothesis import HealthCheck, settings


def random_runs(count: int, *, steps: int, fixed: bool) -> settings:
    """So many runs of so many steps at most; a step takes as long as a server takes."""
    return settings(
        max_examples=count,
        stateful_step_count=steps,
        derandomize=fixed,
        print_blob=not fixed,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )

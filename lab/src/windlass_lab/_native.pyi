"""The native half of the package; `windlass_lab.runs` wraps it."""

class Table:
    """One time series, as an Arrow stream of one batch (the PyCapsule interface)."""

    @property
    def name(self) -> str: ...
    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

def simulate(
    origin: str,
    text: str,
    overrides: list[str],
    seed: int | None,
    jitter: str | None,
    series: str,
) -> tuple[str, list[Table]]:
    """The summary as JSON, and the time series. Raises `ValueError` with all problems of the
    scenario, one per line.
    """

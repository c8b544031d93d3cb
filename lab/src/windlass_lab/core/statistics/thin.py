"""Thins a time series to what a plot can show, without losing its peaks."""

from collections.abc import Sequence


def thin(
    times: Sequence[float], values: Sequence[float | None], limit: int
) -> tuple[list[float], list[float]]:
    """At most about `limit` points: the first, lowest, highest and last of each of equal spans.

    Rows without a value are left out.
    """
    points = [(t, v) for t, v in zip(times, values, strict=True) if v is not None]
    if len(points) > limit:
        points = [point for span in _spans(points, limit // 4) for point in _extremes(span)]
    return [t for t, _ in points], [v for _, v in points]


def _spans(points: list[tuple[float, float]], count: int) -> list[list[tuple[float, float]]]:
    start, end = points[0][0], points[-1][0]
    spans: list[list[tuple[float, float]]] = [[] for _ in range(max(count, 1))]
    scale = len(spans) / ((end - start) or 1.0)
    for point in points:
        spans[min(int((point[0] - start) * scale), len(spans) - 1)].append(point)
    return [span for span in spans if span]


def _extremes(span: list[tuple[float, float]]) -> list[tuple[float, float]]:
    by_value = range(len(span))
    lowest = min(by_value, key=lambda index: span[index][1])
    highest = max(by_value, key=lambda index: span[index][1])
    return [span[index] for index in sorted({0, lowest, highest, len(span) - 1})]

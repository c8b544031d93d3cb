"""The plots of an experiment, ready for the page."""

from windlass_lab.core.experiments.model import (
    Experiment,
    Flows,
    HistogramPlot,
    Plot,
    SeriesPlot,
    SweepPlot,
    TestsPlot,
    TracePlot,
)
from windlass_lab.core.plots.bars import draw_case_bars, draw_flow_bars, draw_sweep
from windlass_lab.core.plots.parts import Cases, Drawn, Material
from windlass_lab.core.plots.series import draw_series, draw_trace
from windlass_lab.core.plots.servers import draw_histogram, draw_tests


def draw(experiment: Experiment, material: Material) -> list[tuple[Plot, Drawn]]:
    """Every plot of an experiment that its results have values for."""
    drawn = [(plot, _draw(plot, experiment.named, material)) for plot in experiment.plots]
    return [(plot, made) for plot, made in drawn if made.panels]


def _draw(plot: Plot, cases: Cases, material: Material) -> Drawn:
    if isinstance(plot, SeriesPlot):
        return draw_series(plot, cases, material)
    if isinstance(plot, TracePlot):
        return draw_trace(plot, cases, material)
    if isinstance(plot, SweepPlot):
        return draw_sweep(plot, material.evidence)
    if isinstance(plot, TestsPlot):
        return draw_tests(plot, cases, material.evidence)
    if isinstance(plot, HistogramPlot):
        return draw_histogram(plot, material.evidence)
    if plot.flows == Flows.EACH:
        return draw_flow_bars(plot, cases, material.evidence)
    return draw_case_bars(plot, cases, material.evidence)

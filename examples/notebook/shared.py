"""Two flows share a link: a notebook of marimo. `marimo edit examples/notebook/shared.py`."""

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium")


@app.cell
def _():
    import pathlib

    import marimo as mo
    import polars as pl

    import windlass_lab as wl

    return mo, pathlib, pl, wl


@app.cell
def _(mo):
    mo.md(
        """
        # Two flows share a link

        One has a round trip of 10 ms, the other one of 100 ms. With Reno the short one gets most of
        the link. New-ECN divides it almost evenly. Choose a controller and see.
        """
    )


@app.cell
def _(mo):
    controller = mo.ui.dropdown(
        ["newreno", "cubic", "new-ecn"], value="new-ecn", label="controller"
    )
    controller  # noqa: B018  what a cell ends with is shown
    return (controller,)


@app.cell
def _(controller, pathlib, wl):
    scenario = pathlib.Path(__file__).parent / "shared.toml"
    run = wl.simulate(scenario, seed=1, set={"defaults.controller": controller.value})
    run.flows.select("name", "controller", "rtt_min_ms", "packets_per_s.steady", "marks")
    return run, scenario


@app.cell
def _(run):
    run.plot("cwnd", "queue")


@app.cell
def _(pl, scenario, wl):
    # All three, five seeds each.
    rows = []
    for name in ("newreno", "cubic", "new-ecn"):
        for seed in range(1, 6):
            one = wl.simulate(scenario, seed=seed, set={"defaults.controller": name})
            index = one.summary["fairness_index"]["steady"]
            rows.append({"controller": name, "fairness index": index})
    fairness = pl.DataFrame(rows).group_by("controller", maintain_order=True).mean()
    fairness  # noqa: B018
    return (fairness,)


if __name__ == "__main__":
    app.run()

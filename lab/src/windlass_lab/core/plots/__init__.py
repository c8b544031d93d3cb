"""Plots as plain data for Plotly, and their CSV (`parts`): those of experiments (`draw`, from
`bars`, `series` and `servers`), and the base of a figure that can be saved (`saved_figure`). The
plots of a run, a sweep, a search or a survey are in its own package, made of the same `parts`.
"""

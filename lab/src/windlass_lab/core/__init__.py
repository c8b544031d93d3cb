"""What every experiment uses: the model, runs of the binary, verdicts, plots and the report."""

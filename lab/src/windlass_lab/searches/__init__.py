"""Searches: optuna looks for the values of a scenario's keys that meet several objectives best."""

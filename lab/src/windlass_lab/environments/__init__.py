"""Environments of Gymnasium: an agent sets the congestion window of a flow."""

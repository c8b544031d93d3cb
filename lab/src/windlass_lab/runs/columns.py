"""The columns of time series, by the names that readers use."""

FLOW_COLUMNS = {
    "cwnd": "cwnd_packets",
    "ssthresh": "ssthresh_packets",
    "srtt": "srtt_ms",
    "slope": "slope",
    "acked": "acked_packets",
}
"""The names of series that `Run.series` takes for flows, with their columns."""
QUEUE_COLUMNS = {
    "queue": "queue_packets",
    "average_queue": "average_queue",
    "delay": "delay_ms",
}
"""The same for queues."""

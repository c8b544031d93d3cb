"""Published tables of the New-ECN paper whose figures are not those of one scenario."""

PAIRS = ("1:4", "2:4", "3:4", "1:3", "2:3", "1:2")


def _by_pair(*figures: float) -> dict[str, float]:
    return dict(zip(PAIRS, figures, strict=True))


# Table 4.5: ratios of the means of two flows.
SRTT_RATIOS = _by_pair(13.02, 5.00, 2.34, 5.56, 2.14, 2.60)
CWND_RATIOS = _by_pair(13.91, 5.70, 2.82, 4.94, 2.02, 2.44)
SLOPE_RATIOS = _by_pair(47.22, 12.68, 4.69, 10.07, 2.7, 3.72)

# Table 4.6: a power, then for each pair the sRTT ratio to that power less the slope ratio.
POWERS = (
    (1.0, -34.20, -7.67, -2.35, -4.50, -0.56, -1.12),
    (1.1, -30.39, -6.80, -2.14, -3.46, -0.40, -0.86),
    (1.2, -25.46, -5.77, -1.92, -2.22, -0.21, -0.57),
    (1.3, -19.10, -4.57, -1.67, -0.76, -0.02, -0.26),
    (1.4, -10.87, -3.15, -1.40, 0.99, 0.19, 0.09),
    (1.5, -0.24, -1.49, -1.11, 3.06, 0.42, 0.47),
    (1.6, 13.51, 0.47, -0.79, 5.51, 0.67, 0.89),
    (1.7, 31.28, 2.77, -0.45, 8.43, 0.94, 1.36),
    (1.8, 54.24, 5.47, -0.07, 11.89, 1.22, 1.87),
    (1.9, 83.93, 8.63, 0.34, 16.00, 1.53, 2.43),
    (2.0, 122.30, 12.36, 0.79, 20.89, 1.87, 3.05),
)

"""Makes the example traces in this folder. The same program gives the same files.

The rate of a cellular link is a random walk: its logarithm returns to its mean and is disturbed by
Gaussian noise every 20 ms, and now and then the signal fades for a moment. Within 20 ms the
opportunities are a Poisson process, as in the model of Winstein, Sivaraman and Balakrishnan (NSDI
2013). On Wi-Fi, packets leave in bursts when the station gets its turn.
"""

import math
import random
from pathlib import Path

STEP_MS = 20
PACKET_BITS = 12_000


def cellular(seed: int, seconds: int, mean_bit_per_s: float) -> list[int]:
    """Times in milliseconds at which a cellular link delivers 1500 bytes."""
    draw = random.Random(seed)
    disturbance, fade_until, times, at_ms = 0.0, 0, [], 0.0
    for begin in range(0, seconds * 1000, STEP_MS):
        disturbance = 0.98 * disturbance + draw.gauss(0, 0.12)
        if draw.random() < STEP_MS / 8000:
            fade_until = begin + draw.randrange(100, 600)
        rate = mean_bit_per_s * math.exp(disturbance)
        if begin < fade_until:
            rate /= 20
        per_ms = rate / PACKET_BITS / 1000
        at_ms = float(begin)
        while (at_ms := at_ms + draw.expovariate(per_ms)) < begin + STEP_MS:
            times.append(math.ceil(at_ms))
    return closed(times, seconds)


def wifi(seed: int, seconds: int, mean_bit_per_s: float) -> list[int]:
    """Times in milliseconds at which a busy Wi-Fi station delivers 1500 bytes."""
    draw = random.Random(seed)
    packets_per_ms = mean_bit_per_s / PACKET_BITS / 1000
    at_ms, times = 0.0, []
    while at_ms < seconds * 1000:
        gap_ms = draw.uniform(1, 9)
        at_ms += gap_ms
        burst = round(gap_ms * packets_per_ms * draw.uniform(0.5, 1.5))
        times += [math.ceil(at_ms)] * min(burst, 42)
    return closed([time for time in times if time <= seconds * 1000], seconds)


def closed(times: list[int], seconds: int) -> list[int]:
    """The times with a last one at the very end, where the trace begins again."""
    return [*(time for time in times if time < seconds * 1000), seconds * 1000]


TRACES = {
    "cellular.trace": lambda: cellular(seed=1, seconds=30, mean_bit_per_s=6e6),
    "cellular-up.trace": lambda: cellular(seed=2, seconds=30, mean_bit_per_s=1.5e6),
    "wifi.trace": lambda: wifi(seed=3, seconds=15, mean_bit_per_s=18e6),
}


def text(times: list[int]) -> str:
    """The file's content: a time a line."""
    return "".join(f"{time}\n" for time in times)


if __name__ == "__main__":
    for name, make in TRACES.items():
        (Path(__file__).parent / name).write_text(text(make()), encoding="ascii")

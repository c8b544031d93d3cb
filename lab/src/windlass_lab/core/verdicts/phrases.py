"""The bounds of a paper's phrases, for checks that have none of their own."""

import math
import re
from collections.abc import Mapping

from windlass_lab.core.statistics.bounds import Bounds

# "About" allows as much as a published number may be missed by at most; a range is as wide as it
# says, and a tenth on either side.
_ABOUT, _BESIDE_A_RANGE = 0.15, 0.10
_PHRASES: Mapping[str, Bounds] = {
    "fair": Bounds(low=0.95),
    "not fair": Bounds(high=math.nextafter(0.95, 0)),
    "roughly half": Bounds(0.4, math.nextafter(0.6, 0)),
}
_NUMBER = r"(\d+(?:\.\d+)?)"


def bounds_of(phrase: str) -> Bounds | None:
    """The bounds within which a figure meets a phrase; `None` for one without a rule.

    Beside fixed phrases: "about 2", "3 to 3.5", "at most 2", "at least 2", "below 2", "above 2".
    """
    if phrase in _PHRASES:
        return _PHRASES[phrase]
    if found := re.fullmatch(f"{_NUMBER} to {_NUMBER}", phrase):
        low, high = map(float, found.groups())
        return Bounds(low * (1 - _BESIDE_A_RANGE), high * (1 + _BESIDE_A_RANGE))
    if found := re.fullmatch(f"(about|at most|at least|below|above) {_NUMBER}", phrase):
        number = float(found[2])
        return {
            "about": Bounds(number * (1 - _ABOUT), number * (1 + _ABOUT)),
            "at most": Bounds(high=number),
            "at least": Bounds(low=number),
            "below": Bounds(high=math.nextafter(number, -math.inf)),
            "above": Bounds(low=math.nextafter(number, math.inf)),
        }[found[1]]
    return None

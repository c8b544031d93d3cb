from windlass_lab.estimate import Estimate
from windlass_lab.text import estimate, figure, table


def test_figures_have_the_digits_they_deserve():
    shown = [figure(value) for value in (0, 0.16234, 8.271, 23.14159, 579.94, 72583.4)]
    assert shown == ["0", "0.162", "8.271", "23.14", "579.9", "72,583"]
    assert estimate(Estimate(1207.28, 0.5, 20)) == "1,207.3 ± 0.5"
    assert estimate(Estimate(0.9844, 0.0054, 20)) == "0.984 ± 0.005"
    assert estimate(Estimate(4.0, 0.0, 20)) == "4.000"
    assert estimate(None) == "–"


def test_tables_line_up():
    lines = table([("rate", "1"), ("fairness", "100")], right={1}).splitlines()
    assert lines == ["rate        1", "fairness  100"]

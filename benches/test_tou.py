"""The arithmetic of the bench of ToU: `python3 -m unittest discover -s benches`."""

import unittest

import tou
import tou_many
import tou_tunnels
from tou import Transfer
from tou_programs import snmp

SNMP = """Tcp: RtoAlgorithm RetransSegs InErrs
Tcp: 1 17 0
Udp: InDatagrams NoPorts InErrors RcvbufErrors
Udp: 900 0 5 5
"""


def transfers(*gbit_per_s: float, again: int | None = 0) -> list[Transfer]:
    return [Transfer(rate, 0.2, 0.1, again, 0) for rate in gbit_per_s]


def rows() -> list[dict]:
    """ToU has 20 Gbit/s with offloads and 6 without, quinn 8 and 4, TCP 10 without them."""
    made = [
        tou.row("on", "tou", transfers(20, 1, 30)),
        tou.row("on", "quinn", transfers(8)),
        tou.row("off", "tou", transfers(6)),
        tou.row("off", "quinn", [Transfer(4, 0.4, 0.2, 3, 2)]),
        tou.row("off", "tcp-reno", transfers(10)),
    ]
    tou.add_ratios(made)
    return made


class Rows(unittest.TestCase):
    def test_the_median_counts_and_losses_add_up(self) -> None:
        row = tou.row("on", "tou", [*transfers(9, 1), *transfers(2, again=4)])
        self.assertEqual(row["gbit_per_s"], {"median": 2, "min": 1, "max": 9})
        self.assertEqual(row["sent_again"], 4)
        self.assertIsNone(tou.row("on", "udp", transfers(1, again=None))["sent_again"])

    def test_ratios_are_over_the_same_setting(self) -> None:
        ratios = {(row["offloads"], row["program"]): row for row in rows()}
        self.assertEqual(ratios["on", "quinn"]["goodput_ratio"], 2.5)
        self.assertEqual(ratios["off", "quinn"]["goodput_ratio"], 1.5)
        self.assertAlmostEqual(ratios["off", "quinn"]["cpu_ratio"], 0.5)
        self.assertNotIn("goodput_ratio", ratios["on", "tou"])

    def test_tls_is_compared_with_encrypted_tou(self) -> None:
        rates = {"tou": 20, "tou-tls": 12, "tls-ring": 16, "tou-tls-beside": 6, "tou-beside": 10}
        made = [tou.row("on", name, transfers(rate)) for name, rate in rates.items()]
        tou.add_ratios(made)
        ratios = {row["program"]: row.get("goodput_ratio") for row in made}
        self.assertEqual(ratios["tls-ring"], 0.75)
        self.assertEqual((ratios["tou-beside"], ratios["tou-tls-beside"]), (2, 2))
        (check,) = [one for one in tou.checks(made) if one["peer"] == "tls-ring"]
        self.assertEqual((check["value"], check["met"]), (0.75, True))

    def test_a_target_may_be_over_a_peer_in_the_other_setting(self) -> None:
        found = {(one["offloads"], one["peer"]): one for one in tou.checks(rows())}
        over_tcp = found["on", "tcp-reno"]
        self.assertEqual((over_tcp["value"], over_tcp["met"]), (2, True))
        self.assertEqual(
            (found["off", "quinn"]["value"], found["off", "quinn"]["met"]), (1.5, False)
        )
        self.assertNotIn(("on", "udp"), found)

    def test_tunnels_are_compared_within_a_case(self) -> None:
        def made(case: str, tunnel: str, *rates: float) -> dict:
            runs = [tou_tunnels.Transfer(rate, 2, 3, 1) for rate in rates]
            return tou_tunnels.row(case, tunnel, runs)

        rows = [made("a", "tou", 6, 90, 1), made("a", "ssh", 3), made("b", "ssh", 1)]
        tou_tunnels.add_ratios(rows)
        self.assertEqual(rows[1]["goodput_ratio"], 2)
        self.assertNotIn("goodput_ratio", rows[0])
        self.assertNotIn("goodput_ratio", rows[2])
        self.assertEqual(tou_tunnels.fairness_index([1, 1, 0, 0]), 0.5)

    def test_losses_of_tou_are_reported_and_those_of_others_are_not(self) -> None:
        self.assertEqual(tou.losses(rows()), [])
        (line,) = tou.losses([tou.row("on", "tou", transfers(20, again=7))])
        self.assertIn("7 sent again", line)

    def test_a_busy_machine_is_reported(self) -> None:
        self.assertIn("busy", tou.describe_load({"start": 0.6, "end": 3}))
        self.assertNotIn("busy", tou.describe_load({"start": 0.4, "end": 3}))

    def test_the_table_says_all_of_it(self) -> None:
        text = tou.report(rows(), tou.checks(rows()))
        self.assertIn("20.00 [1.00..30.00]", text)
        self.assertIn("at least 1.2 times tcp-reno with them off", text)


class Counters(unittest.TestCase):
    def test_a_counter_of_the_kernel_is_found_by_its_name(self) -> None:
        self.assertEqual(snmp(SNMP, "Udp", "RcvbufErrors"), 5)
        self.assertEqual(snmp(SNMP, "Tcp", "RetransSegs"), 17)


class Many(unittest.TestCase):
    def test_what_falls_short_is_reported(self) -> None:
        one = {
            "idle_bytes": 5000,
            "used_bytes": 9100,
            "active": 1000,
            "fairness_index": 0.95,
            "gbit_per_s": 5,
            "sent_again": 0,
            "rcvbuf_errors": 0,
        }
        text = tou_many.held(one)
        self.assertIn("4096: NOT MET", text)
        self.assertIn("0.9: met", text)


if __name__ == "__main__":
    unittest.main()

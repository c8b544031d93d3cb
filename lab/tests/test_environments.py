"""Environments: Gymnasium's own checks, and that an agent's window is what the flow has."""

import copy
import pickle
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import windlass_lab as wl
from windlass_lab.core.errors import LabError

pytest.importorskip("gymnasium", reason="pip install 'windlass-lab[environments]'")
pytest.importorskip("windlass_lab._native", reason="build it with scripts/build-native")

from gymnasium.utils.env_checker import check_env

from windlass_lab.environments.spec import ACTIONS, OBSERVATION, SIGNALS

SCENARIO = """
schema = 1
name = "two-flows"
duration = "5s"
flows = [{ name = "long", from = "s1" }, { name = "other", from = "s2", start = "1s" }]
[dumbbell]
access = [{ delay = "1ms" }, { delay = "1ms" }]
bottleneck = { rate = "10Mbit/s", delay = "10ms", queue = "codel" }
"""


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "two.toml"
    file.write_text(SCENARIO)
    return file


def seen(observation) -> dict:
    return dict(zip(OBSERVATION, (float(number) for number in observation), strict=True))


@pytest.mark.parametrize("step", ["rtt", "50ms", "8 acks"])
@pytest.mark.parametrize("action", ACTIONS)
def test_gymnasium_finds_nothing_wrong(path, step, action):
    if (step, action) == ("8 acks", "watch"):
        pytest.skip("a flow with its own controller has no count of ACKs")
    check_env(wl.make_env(path, flow="long", step=step, action=action), skip_render_check=True)


def test_the_window_is_the_agents(path):
    """22 ms of round trip and 10 Mbit/s take 18 packets."""
    alone = {"flows.1.start": "4.9s", "dumbbell.bottleneck.queue": "droptail"}
    env = wl.make_env(path, flow="long", step="500ms", action="cwnd", set=alone)
    env.reset(seed=1)
    rates = {}
    for window in (4, 9, 18, 30):
        env.step(np.array([window], dtype=np.float32))
        last = seen(env.step(np.array([window], dtype=np.float32))[0])
        assert last["cwnd_packets"] == window
        rates[window] = last["acked_packets_per_s"]
    assert rates[4] == pytest.approx(4 / 0.0244, rel=0.1)
    assert rates[9] == pytest.approx(2.25 * rates[4], rel=0.15)
    assert rates[30] == pytest.approx(833, rel=0.05)


def test_the_pacing_rate_is_the_agents(path):
    """Packets of 1500 bytes leave at the rate that is set, up to the 833 a second of the link."""
    alone = {"flows.1.start": "4.9s", "dumbbell.bottleneck.queue": "droptail"}
    env = wl.make_env(path, flow="long", step="500ms", action="pacing_rate", set=alone)
    env.reset(seed=1)
    for rate in (100, 400, 200, 800):
        env.step(np.array([rate], dtype=np.float32))
        last = seen(env.step(np.array([rate], dtype=np.float32))[0])
        assert last["acked_packets_per_s"] == pytest.approx(rate, rel=0.05)
        assert last["srtt_ms"] < 30, "no queue builds below the link's rate"
    env = wl.make_env(path, flow="long", step="500ms", action="pacing_factor", set=alone)
    env.reset(seed=1)
    env.step(np.array([1.0], dtype=np.float32))
    last = seen(env.step(np.array([1.0], dtype=np.float32))[0])
    # Three packets in 100 ms, doubled twice.
    assert last["acked_packets_per_s"] == pytest.approx(120, rel=0.1)


def test_to_watch_is_to_see_the_flows_own_run(path):
    env = wl.make_env(path, flow="long", step="100ms", action="watch")
    env.reset(seed=5)
    for _ in range(50):
        env.step(env.action_space.sample())
    summary = env.summary()
    assert summary == wl.simulate(path, seed=summary["seed"], series="none").summary


def test_signals_are_what_the_flows_controller_gets(path):
    """The flow alone on 833 packets per second, with more than the queue holds."""
    alone = {"flows.1.start": "4.9s", "dumbbell.bottleneck.queue": "droptail"}
    options = {"flow": "long", "step": "500ms", "action": "cwnd", "set": alone}
    env = wl.make_env(path, **options, signals=True)
    check_env(env, skip_render_check=True)
    names = OBSERVATION + SIGNALS
    env.reset(seed=1)
    rows = []
    for window in (4, 4, 30, 30, 200, 200, 200, 30):
        observation = env.step(np.array([window], dtype=np.float32))[0]
        rows.append(dict(zip(names, map(float, observation), strict=True)))
    small, full, over = rows[1], rows[3], rows[4:7]
    # A rate sample spans a round trip, and a window's packets come back within it.
    assert small["delivery_rate_packets_per_s"] == pytest.approx(4 / 0.0244, rel=0.15)
    assert full["delivery_rate_packets_per_s"] == pytest.approx(833, rel=0.05)
    assert full["lost_packets"] == small["lost_packets"] == 0
    assert sum(row["lost_packets"] for row in over) > 50
    # The application had nothing to send before the handshake was over.
    assert 0 < rows[0]["app_limited_share"] < 0.1
    assert all(row["app_limited_share"] == 0 for row in rows[1:])
    assert all(row["marked_packets"] == 0 for row in rows)


def test_signals_of_marks_and_of_a_quiet_application(path):
    ecn = {"defaults.ecn": True, "dumbbell.bottleneck.queue": "codel"}
    env = wl.make_env(path, flow="long", step="1s", action="watch", set=ecn, signals=True)
    env.reset(seed=1)
    rows = [env.step(np.zeros(1, dtype=np.float32))[0] for _ in range(5)]
    assert sum(row[-2] for row in rows) > 0
    app = {"kind": "repeated", "size": "20kB", "pause": "100ms"}
    quiet = {"flows.0.app": app}
    env = wl.make_env(path, flow="long", step="1s", action="watch", set=quiet, signals=True)
    env.reset(seed=1)
    shares = [float(env.step(np.zeros(1, dtype=np.float32))[0][-1]) for _ in range(5)]
    assert all(0 < share < 1 for share in shares), "only the last segments have nothing behind them"


@pytest.mark.parametrize("controller", ["cubic", "dctcp", "bbr"])
def test_signals_change_nothing_of_a_run(path, controller):
    keys = {"flows.0.controller": controller, "defaults.ecn": True}
    env = wl.make_env(path, flow="long", step="100ms", action="watch", set=keys, signals=True)
    env.reset(seed=5)
    for _ in range(50):
        env.step(env.action_space.sample())
    summary = env.summary()
    assert summary == wl.simulate(path, seed=summary["seed"], series="none", set=keys).summary


def test_steps_are_times_round_trips_and_acks(path):
    def of(step, count=40):
        env = wl.make_env(path, flow="long", step=step, action="cwnd")
        env.reset(seed=1)
        return [seen(env.step(np.array([8.0], dtype=np.float32))[0]) for _ in range(count)]

    assert {round(one["step_s"], 6) for one in of("50ms")} == {0.05}
    for before, one in zip(of("rtt")[9:], of("rtt")[10:], strict=False):
        assert one["step_s"] * 1000 == pytest.approx(before["srtt_ms"], rel=0.01)
    acked = [one["acked_packets_per_s"] * one["step_s"] for one in of("8 acks")[10:]]
    assert np.mean(acked) == pytest.approx(16, rel=0.3), "an ACK is for two packets"


def test_an_episode_ends_at_the_end_of_the_run(path):
    env = wl.make_env(path, flow="long", step="100ms")
    env.reset(seed=1)
    ends = [env.step(env.action_space.sample())[2:4] for _ in range(50)]
    assert ends == [(False, False)] * 49 + [(False, True)]
    transfer = {"kind": "transfer", "size": "100kB"}
    done = {"flows.0.app": transfer, "flows.1.app": transfer, "until_done": True}
    env = wl.make_env(path, flow="long", step="100ms", set=done)
    env.reset(seed=1)
    endings = [env.step(np.zeros(1, dtype=np.float32))[2:4] for _ in range(15)]
    assert endings[:10] == [(False, False)] * 10, "the other flow begins at 1 s"
    assert (True, False) in endings


def test_a_seed_is_an_episode_and_the_next_one_differs(path):
    def episode(env, seed=None):
        env.reset(seed=seed)
        return [env.step(np.array([0.1 * (n % 3)], dtype=np.float32))[1] for n in range(30)]

    jitter = {"jitter": "100ms"}
    env, again = (wl.make_env(path, flow="long", set=jitter) for _ in range(2))
    first, second = episode(env, 7), episode(env)
    assert first != second
    assert (episode(again, 7), episode(again)) == (first, second)


def test_the_summary_is_that_of_the_run(path):
    env = wl.make_env(path, flow="long", step="100ms", action="cwnd")
    env.reset(seed=1)
    for _ in range(50):
        env.step(np.array([10.0], dtype=np.float32))
    summary = env.summary()
    assert summary["flows"][0]["controller"] == "external"
    assert summary["duration_s"] == 5


def test_members_of_a_vector_are_single_environments(path):
    n = 5
    many = wl.make_vec_env(path, flow="long", n=n, step="100ms", set={"jitter": "100ms"})
    first, _ = many.reset(seed=3)
    assert first.shape == (n, len(OBSERVATION)) and first.dtype == np.float32
    seeds = np.random.default_rng(0)
    actions = seeds.uniform(-0.2, 0.2, (60, n, 1)).astype(np.float32)
    steps = [many.step(action) for action in actions]
    truncated = np.array([step[3] for step in steps])
    assert truncated[49].all() and truncated.sum() == n
    after = steps[50]
    assert (after[1] == 0).all(), "a run that begins anew has no reward yet"
    assert (after[0][:, 1:] == 0).all() and (after[0][:, 0] > 0).all()
    assert (steps[52][0][:, OBSERVATION.index("srtt_ms")] > 0).all()
    # The first member has the first draw of the seed, as a single environment has.
    single = wl.make_env(path, flow="long", step="100ms", set={"jitter": "100ms"})
    single.reset(seed=3)
    for action, step in zip(actions[:50], steps, strict=False):
        observation, reward, *_ = single.step(action[0])
        np.testing.assert_array_equal(observation, step[0][0])
        assert reward == step[1][0]
    # The same seed and the same actions give the same.
    again = wl.make_vec_env(path, flow="long", n=n, step="100ms", set={"jitter": "100ms"})
    again.reset(seed=3)
    for action, step in zip(actions, steps, strict=True):
        np.testing.assert_array_equal(again.step(action)[0], step[0])


def test_the_power_rewards_rate_and_punishes_queues(path):
    def mean(window):
        env = wl.make_env(path, flow="long", action="cwnd", set={"flows.1.start": "4.9s"})
        env.reset(seed=1)
        return np.mean([env.step(np.array([window], dtype=np.float32))[1] for _ in range(100)])

    assert mean(18.0) > mean(4.0) and mean(18.0) > mean(60.0)


def test_a_reward_of_ones_own(path):
    env = wl.make_env(path, flow="long", reward=lambda o: -o[..., OBSERVATION.index("srtt_ms")])
    env.reset(seed=1)
    rewards = [env.step(np.zeros(1, dtype=np.float32))[1] for _ in range(20)]
    assert rewards[-1] < -20


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"flow": "lnog"}, 'has no flow "lnog", but long, other'),
        ({"step": "0ms"}, 'expected "rtt"'),
        ({"step": "0 acks"}, 'expected "rtt"'),
        ({"action": "rate"}, "expected cwnd, factor, increment"),
        ({"action": "watch", "step": "8 acks"}, 'expected "rtt" or a time'),
        ({"set": {"duration": "soon"}}, "duration"),
    ],
)
def test_a_wrong_option_is_named(path, options, message):
    with pytest.raises(LabError, match=message):
        wl.make_env(path, **({"flow": "long"} | options))


def test_a_step_before_the_reset_is_refused(path):
    with pytest.raises(ValueError, match="reset the environment first"):
        wl.make_env(path, flow="long").step(np.zeros(1, dtype=np.float32))


def make(path, many, **options):
    if many:
        return wl.make_vec_env(path, flow="long", n=3, **options)
    return wl.make_env(path, flow="long", **options)


def again(env):
    return pickle.loads(pickle.dumps(env))


@pytest.mark.parametrize("duplicate", [again, copy.copy, copy.deepcopy])
@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("action", ["factor", "pacing_rate"])
def test_a_copy_goes_on_like_the_original(path, many, action, duplicate):
    """Before the first episode, in one, and in the next one; vectors of processes pickle."""
    env = make(path, many, action=action, set={"jitter": "100ms"})
    env.action_space.seed(1)
    twin = duplicate(env)
    for seed in (5, None):
        assert np.array_equal(env.reset(seed=seed)[0], twin.reset(seed=seed)[0])
        for _ in range(30):
            action = env.action_space.sample()
            for one, other in zip(env.step(action)[:4], twin.step(action)[:4], strict=True):
                assert np.array_equal(one, other)
        twin = duplicate(env)


def test_a_copy_needs_no_file(path):
    env = wl.make_env(path, flow="long")
    data = pickle.dumps(env)
    path.unlink()
    assert np.array_equal(pickle.loads(data).reset(seed=1)[0], env.reset(seed=1)[0])


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("many", [False, True])
def test_an_action_that_the_space_has_not_is_refused_and_nothing_runs(path, many, action):
    env = make(path, many, action=action, step="50ms")
    env.reset(seed=1)
    space = env.action_space
    high = float(space.high.flat[0])
    wrong = [
        np.full(space.shape, np.nan),
        np.full(space.shape, np.inf),
        np.full(space.shape, high * 1.001),
        np.full(space.shape, float(space.low.flat[0]) - 0.001),
        np.zeros((7,)),
        None,
        "fast",
        {},
    ]
    for one in wrong:
        with pytest.raises(ValueError, match=r"^action: expected "):
            env.step(one)
    right = np.full(space.shape, high)
    fresh = make(path, many, action=action, step="50ms")
    fresh.reset(seed=1)
    assert np.array_equal(env.step(right)[0], fresh.step(right)[0])


def test_numbers_of_other_types_are_actions_and_seeds(path):
    env = wl.make_env(path, flow="long", step="50ms")
    for half in (0.5, np.float32(0.5), np.array(0.5), [0.5], Decimal("0.5"), Fraction(1, 2)):
        env.reset(seed=np.int64(3))
        first = env.step(half)[0]
        env.reset(seed=3)
        assert np.array_equal(first, env.step(np.array([0.5], dtype=np.float32))[0])
    for seed in (1.5, -1, "3", np.nan):
        with pytest.raises(ValueError, match=r"^seed: expected a whole number"):
            env.reset(seed=seed)
    assert wl.make_vec_env(path, flow="long", n=np.int64(2)).num_envs == 2
    for n in (0, 2.5, True):
        with pytest.raises(ValueError, match=r"^n: expected a whole number of at least 1"):
            wl.make_vec_env(path, flow="long", n=n)


def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    monkeypatch.delitem(sys.modules, "windlass_lab.environments.single", raising=False)
    with pytest.raises(LabError, match=r"make_env takes the package gymnasium: .*\[environments\]"):
        _ = wl.make_env

"""Missing requirements, as `windlass-lab testbed check` reports them."""

from windlass_lab.testbed import check


def chrt(folder, monkeypatch, status):
    """A `chrt` that ends with this status is the only program."""
    program = folder / "chrt"
    program.write_text(f"#!/bin/sh\nexit {status}\n", encoding="ascii")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/bin")


def test_a_process_that_may_not_be_real_time_is_warned(tmp_path, monkeypatch):
    chrt(tmp_path, monkeypatch, 1)
    assert not check.has_real_time()
    monkeypatch.setattr(check, "is_root", lambda: True)
    assert (False, f"real-time scheduling: {check.LATE_LINKS}") in list(check.missing())


def test_a_process_that_may_be_real_time_is_not_warned(tmp_path, monkeypatch):
    chrt(tmp_path, monkeypatch, 0)
    assert check.has_real_time()
    assert not any("real-time" in line for _, line in check.missing())


def test_without_chrt_there_is_no_real_time(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not check.has_real_time()

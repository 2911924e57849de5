"""Labels of pushed series."""

from __future__ import annotations

from whyflame.export.labels import SeriesGuard, make_labels


def named(number: int, service: str = "shop") -> tuple[tuple[str, str], ...]:
    return make_labels(
        "agent",
        [
            ("service_name", service),
            ("environment", "prod"),
            ("agent", f"a{number}"),
            ("model", ""),
        ],
    )


def test_unknown_labels_are_left_out_but_the_service_never_is() -> None:
    labels = make_labels("agent", [("service_name", ""), ("model", "gpt-5"), ("provider", "")])
    assert labels == (
        ("__name__", "agent"),
        ("model", "gpt-5"),
        ("service_name", "unknown_service"),
    )


def test_values_are_one_printable_line_of_bounded_length() -> None:
    labels = dict(make_labels("agent", [("service_name", " a\nb\x00 "), ("agent", "ü" * 500)]))
    assert labels["service_name"] == "a b"
    assert len(labels["agent"].encode()) <= 256
    assert labels["agent"].endswith("…")


def test_series_beyond_the_limit_become_coarser_and_stay_few() -> None:
    guard = SeriesGuard(20)
    admitted = {guard.admit("", named(number, f"s{number % 5}")) for number in range(500)}
    assert len(admitted) <= 20
    assert guard.overflowed == 500 - 18
    assert guard.admit("", named(3, "s3")) == named(3, "s3")
    coarse = dict(guard.admit("", named(400, "s0")))
    assert coarse["service_name"] in {"s0", "overflow"}
    assert coarse.get("agent", "overflow") == "overflow"


def test_even_services_overflow() -> None:
    guard = SeriesGuard(20)
    admitted = {guard.admit("", named(number, f"s{number}")) for number in range(500)}
    assert len(admitted) <= 20
    assert (("__name__", "agent"), ("service_name", "overflow")) in admitted


def test_tenants_do_not_share_the_limit() -> None:
    guard = SeriesGuard(2)
    assert guard.admit("a", named(1)) == named(1)
    assert guard.admit("b", named(2)) == named(2)


def test_remembered_series_keep_their_labels() -> None:
    guard = SeriesGuard(2)
    guard.remember("", named(7))
    assert guard.admit("", named(8)) != named(8)
    assert guard.admit("", named(7)) == named(7)

"""What is put into payloads, what is marked, and what stays after changes of mind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.integration.export.world import SECOND, World, make_job

from whyflame.errors import PermanentError, UsageError
from whyflame.export import PausedError
from whyflame.export.fake import MemoryExporter
from whyflame.export.reshape import unpack
from whyflame.model import Kind
from whyflame.store.outbox import Drift, Outbox
from whyflame.store.outbox_letters import drop_letters, list_letters, retry_letters

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from whyflame.export import ExportJob
    from whyflame.fold.profile import Profile
    from whyflame.model import Operation


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path / "store.duckdb")
    yield made
    made.store.close()


def pushed(world: World, exporter: MemoryExporter | None = None, **settings: Any) -> list[Profile]:
    exporter = exporter or MemoryExporter()
    job = make_job(world, exporter, **settings)
    while job.tick(0):
        world.clock.advance(0.01)
    job.close()
    return [unpack(payload.body)[0] for payload in exporter.accepted]


def test_shape_of_a_profile(world: World) -> None:
    exporter = MemoryExporter()
    world.settle(world.operation(environment="prod", provider="openai", outcome="success"))
    (profile,) = pushed(world, exporter)
    (payload,) = exporter.accepted
    assert dict(payload.labels) == {
        "__name__": "agent", "service_name": "shop", "environment": "prod", "agent": "planner",
        "model": "gpt-5", "provider": "openai", "outcome": "success",
    }  # fmt: skip
    types = [(item.name, item.unit) for item in profile.sample_types]
    assert types == [
        ("operations", "count"),
        ("cost", "microusd"),
        ("duration", "nanoseconds"),
        ("tokens", "count"),
    ]
    assert list(profile.stacks()) == [
        (("planner", "plan trip", "call gpt-5"), (), (1, 1, SECOND, 120))
    ]
    assert profile.time_ns == payload.time_ns
    assert profile.duration_ns == 15 * SECOND


def test_one_payload_for_a_series_and_window(world: World) -> None:
    exporter = MemoryExporter()
    base = world.clock() // (15 * SECOND) * 15 * SECOND - 60 * SECOND
    ends = [base + 1, base + 14 * SECOND, base + 15 * SECOND]
    world.settle(*[world.operation(end_ns=end) for end in ends])
    pushed(world, exporter)
    windows = sorted(-(-payload.time_ns // (15 * SECOND)) for payload in exporter.accepted)
    assert windows == [base // (15 * SECOND) + 1, base // (15 * SECOND) + 2]


def test_a_session_settled_in_parts_never_repeats_a_time(world: World) -> None:
    exporter = MemoryExporter()
    job = make_job(world, exporter)
    end = world.clock() - 40 * SECOND
    operations = [world.operation(end_ns=end, trace=1) for _ in range(5)]
    for count in range(1, 6):
        world.settle(*operations[:count])
        world.clock.advance(5)
        job.tick(0)
    times = [payload.time_ns for payload in exporter.accepted]
    assert len(set(times)) == 5
    assert sum(unpack(payload.body)[0].total("tokens") for payload in exporter.accepted) == 600


def test_operations_that_end_in_the_future_are_put_into_the_last_closed_window(
    world: World,
) -> None:
    exporter = MemoryExporter()
    world.settle(world.operation(end_ns=world.clock() + 9_000 * SECOND))
    pushed(world, exporter)
    assert exporter.accepted[0].time_ns <= world.clock()


def test_operations_without_times_are_exported(world: World) -> None:
    operation = world.operation()
    operation.span.start_ns = operation.span.end_ns = None
    world.settle(operation)
    assert [profile.total("tokens") for profile in pushed(world)] == [120]


def test_what_does_not_count_is_not_exported(world: World) -> None:
    world.settle(world.operation(), world.operation(counted=False, why="same_call"))
    assert [profile.total("operations") for profile in pushed(world)] == [1]


def test_unknown_measures_are_nothing_and_empty_profiles_are_not_sent(world: World) -> None:
    nothing = dict.fromkeys(("input_uncached", "output_visible", "cost_nanousd", "self_ns"))
    world.settle(world.operation(operations=0, **nothing))
    assert pushed(world) == []
    marks = world.store.cursor().execute("SELECT count(*) FROM exported").fetchone()
    assert marks == (1,)


def test_split_by_samples_and_by_size_loses_nothing(world: World) -> None:
    world.settle(*[world.operation(leaf=f"call {number:04} " + "x" * 400) for number in range(60)])
    profiles = pushed(world, max_samples=16)
    assert [len(profile) for profile in profiles] == [15, 15, 15, 15]
    again = World(world.path.with_name("again.duckdb"))
    again.settle(*[again.operation(leaf=f"call {number:04} " + "x" * 400) for number in range(60)])
    exporter = MemoryExporter()
    profiles = pushed(again, exporter, max_profile_bytes=8192)
    again.store.close()
    assert len(profiles) > 2
    assert all(payload.size <= 8192 for payload in exporter.accepted)
    assert sum(profile.total("tokens") for profile in profiles) == 60 * 120
    assert len({payload.time_ns for payload in exporter.accepted}) == len(profiles)


def test_deep_stacks_lose_their_middle(world: World) -> None:
    world.settle(world.operation(path=tuple(f"level {number}" for number in range(50))))
    (profile,) = pushed(world, max_depth=10)
    stack = profile.stack(0)
    assert len(stack) == 10
    assert (stack[0], stack[-2:]) == ("planner", ("(43 frames left out)", "call gpt-5"))


def test_reserved_and_long_names(world: World) -> None:
    world.settle(world.operation(path=("other", "x" * 70_000), agent="total"))
    (profile,) = pushed(world)
    agent, task, long, leaf = profile.stack(0)
    assert (agent, task, leaf) == ("total (agent)", "other (task)", "call gpt-5")
    assert len(long.encode()) <= 4096


def test_series_are_bounded(world: World) -> None:
    world.settle(*[world.operation(agent=f"a{number}") for number in range(50)])
    exporter = MemoryExporter()
    profiles = pushed(world, exporter, max_series=40)
    assert len({payload.labels for payload in exporter.accepted}) <= 10
    assert sum(profile.total("tokens") for profile in profiles) == 50 * 120


def test_cost_is_carried_over_restarts(world: World) -> None:
    totals = 0
    for trace in range(7):
        world.settle(world.operation(trace=trace, cost_nanousd=333))
        totals += sum(profile.total("cost") for profile in pushed(world))
        world.reopen()
    assert totals == 7 * 333 // 1000


def test_tenants_are_kept_apart(world: World) -> None:
    exporter = MemoryExporter()
    world.settle(world.operation(tenant="a"), world.operation(trace=1, tenant="b"))
    pushed(world, exporter)
    assert sorted(payload.tenant for payload in exporter.accepted) == ["a", "b"]


def test_settling_again_exports_nothing_twice_and_shows_as_drift(world: World) -> None:
    exporter = MemoryExporter()
    first, second, third = (world.operation(trace=1) for _ in range(3))
    world.settle(first, second)
    pushed(world, exporter)
    first.path = ("plan something else",)
    second.counted, second.same_as = False, first.span.span_key
    world.settle(first, second, third)
    assert [p.total("operations") for p in pushed(world, exporter)] == [2, 1]
    drift = Outbox(world.store).drift("out")
    assert drift == Drift(3, moved=1, moved_tokens=120, duplicates=1, duplicate_tokens=120)


def test_another_view_of_an_exported_call_is_not_exported(world: World) -> None:
    exporter = MemoryExporter()
    old, new = world.operation(trace=1), world.operation(trace=1)
    world.settle(old)
    pushed(world, exporter)
    old.counted, old.same_as = False, new.span.span_key
    world.settle(old, new)
    pushed(world, exporter)
    assert len(exporter.accepted) == 1


def test_a_richer_arrival_of_an_exported_span_is_not_exported(world: World) -> None:
    exporter = MemoryExporter()
    first, second, third = (world.operation(trace=1) for _ in range(3))
    world.settle(first)
    pushed(world, exporter)
    world.supersede(first, second)
    world.supersede(second, third)
    world.settle(third)
    pushed(world, exporter)
    assert len(exporter.accepted) == 1


def test_delivered_payloads_are_deleted_and_numbers_never_come_back(world: World) -> None:
    exporter = MemoryExporter()
    for trace in range(3):
        world.settle(world.operation(trace=trace))
        pushed(world, exporter)
        outbox = Outbox(world.store)
        outbox.prune("out", 1 << 20, world.clock())
        world.clock.advance(100_000)
        outbox.prune("out", 1 << 20, world.clock())
        assert world.store.cursor().execute("SELECT count(*) FROM outbox").fetchone() == (0,)
        world.reopen()
    assert [payload.id for payload in exporter.accepted] == [1, 2, 3]


def test_a_backlog_is_taken_in_several_batches(world: World, monkeypatch: Any) -> None:
    monkeypatch.setattr("whyflame.export.payloads._MAX_OPERATIONS", 2)
    for trace in range(5):
        world.settle(world.operation(trace=trace), world.operation(trace=trace))
    profiles = pushed(world)
    assert len(profiles) == 5
    assert sum(profile.total("operations") for profile in profiles) == 10


def test_two_exporters_each_get_everything(world: World) -> None:
    from whyflame.export import BoundExporter, ExportJob, ExportSettings
    from whyflame.export.fake import InlineExecutor

    first, second = MemoryExporter(), MemoryExporter()
    world.settle(*[world.operation(agent=f"a{number}") for number in range(3)])
    job = ExportJob(
        world.store,
        [
            BoundExporter("one", first, ExportSettings()),
            BoundExporter("two", second, ExportSettings(measures=["tokens"])),
        ],
        world.clock,
        executor=InlineExecutor,
    )
    job.start()
    job.tick(0)
    job.close()
    assert (len(first.accepted), len(second.accepted)) == (3, 3)
    assert not {payload.id for payload in first.accepted} & {p.id for p in second.accepted}


def test_figures_that_change_later_show_as_changed_mass(world: World) -> None:
    """A late child takes self time from its parent; what was exported before stays as it was."""
    parent, other = world.operation(trace=1), world.operation(trace=1)
    world.settle(parent, other)
    pushed(world)
    parent.self_ns -= 300
    other.self_ns += 50
    other.output_visible += 7
    world.settle(parent, other, world.operation(trace=1, self_ns=250))
    pushed(world)
    drift = Outbox(world.store).drift("out")
    assert (drift.changed_self_ns, drift.changed_tokens) == (350, 7)
    assert (drift.moved, drift.duplicates) == (0, 0)


def with_spans(world: World) -> tuple[str, str]:
    """Two operations of one trace below an agent span; ids of the agent span and of a call."""
    root, first, second = (world.operation(trace=1, leaf=leaf) for leaf in ("a", "b", "c"))
    root.span.kind, root.span.start_ns = Kind.AGENT, first.span.start_ns - SECOND
    append_spans(world, root, first, second)
    world.settle(first, second)
    return root.span.span_id.hex(), first.span.span_id.hex()


def append_spans(world: World, *operations: Operation) -> None:
    world.store.cursor().executemany(
        "INSERT INTO spans (span_key, trace_key, span_id, parent_id, kind, start_ns) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        [
            (
                op.span.span_key,
                1,
                op.span.span_id,
                op.span.parent_id,
                op.span.kind.value,
                op.span.start_ns,
            )
            for op in operations
        ],
    )


def test_samples_carry_the_root_span_when_asked(world: World) -> None:
    root, _ = with_spans(world)
    (profile,) = pushed(world, span_links="root")
    assert profile.label_sets == ((("span_id", root),),)
    assert len(profile) == 2


def test_agents_side_by_side_each_have_their_own_samples(world: World) -> None:
    """Hand-offs under one workflow; who lies in no agent goes to the first, a circle too."""
    names = ("flow", "triage", "call", "billing", "helper", "call", "call", "circle")
    kinds = {"flow": Kind.OTHER, "call": Kind.LLM, "circle": Kind.LLM}
    parents = (None, 0, 1, 0, 3, 4, 0, 7)
    operations = []
    for number, (name, parent) in enumerate(zip(names, parents, strict=True)):
        kind = kinds.get(name, Kind.AGENT)
        operation = world.operation(trace=1, kind=kind, counted=kind is Kind.LLM, agent="a")
        operation.span.kind = kind
        operation.span.start_ns = number
        if parent is not None:
            above = operation if parent == number else operations[parent]
            operation.span.parent_id = above.span.span_id
        operations.append(operation)
    append_spans(world, *operations)
    world.settle(*operations)
    (profile,) = pushed(world, span_links="root")
    triage, billing = (operations[number].span.span_id.hex() for number in (1, 3))
    calls = {labels: values[0] for _, labels, values in profile.stacks()}
    assert calls == {(("span_id", triage),): 3, (("span_id", billing),): 1}


def test_samples_carry_their_own_span_when_asked(world: World) -> None:
    _, first = with_spans(world)
    (profile,) = pushed(world, span_links="operation")
    assert len(profile.label_sets) == 2
    assert (("span_id", first),) in profile.label_sets


def test_samples_carry_nothing_by_default(world: World) -> None:
    with_spans(world)
    (profile,) = pushed(world)
    assert profile.label_sets == ((),)


def dead_letters(world: World, exporter: MemoryExporter) -> ExportJob:
    """A job with two dead letters."""
    world.settle(world.operation(agent="a"), world.operation(agent="b"))
    exporter.fail_next(PermanentError("400", "refused_400"), times=2)
    job = make_job(world, exporter)
    job.tick(0)
    return job


def test_dead_letters_are_listed_with_their_reason(world: World) -> None:
    job = dead_letters(world, MemoryExporter())
    letters = list_letters(world.store)
    assert [(letter.id, letter.state, letter.reason) for letter in letters] == [
        (1, "dead", "refused_400"),
        (2, "dead", "refused_400"),
    ]
    assert list_letters(world.store, state="waiting") == []
    assert list_letters(world.store, exporter="nobody") == []
    job.close()


def test_a_retried_letter_is_sent_again_with_the_same_bytes(world: World) -> None:
    exporter = MemoryExporter()
    job = dead_letters(world, exporter)
    assert retry_letters(world.store, [1], world.clock()) == 1
    world.clock.advance(61)
    job.tick(0)
    job.tick(0)
    (payload,) = exporter.accepted
    first = exporter.attempts[0]
    assert (payload.body, payload.labels, payload.time_ns) == (
        first.body, first.labels, first.time_ns,
    )  # fmt: skip
    assert [letter.id for letter in list_letters(world.store)] == [2]
    job.close()


def test_dropped_letters_are_gone(world: World) -> None:
    exporter = MemoryExporter()
    job = dead_letters(world, exporter)
    assert drop_letters(world.store, [1, 2], world.clock()) == 2
    world.clock.advance(61)
    job.tick(0)
    assert list_letters(world.store) == []
    assert world.store.cursor().execute("SELECT count(*) FROM outbox").fetchall() == [(0,)]
    assert exporter.accepted == []
    job.close()


def test_a_waiting_payload_can_be_dropped_while_the_job_runs(world: World) -> None:
    exporter = MemoryExporter()
    exporter.fail_next(PausedError("401", "unauthorized"))
    world.settle(world.operation())
    job = make_job(world, exporter)
    job.tick(0)
    drop_letters(world.store, [1], world.clock())
    world.clock.advance(61)
    job.tick(0)
    world.clock.advance(61)
    assert job.tick(0) is False
    job.close()


def test_unknown_numbers_are_errors(world: World) -> None:
    dead_letters(world, MemoryExporter()).close()
    with pytest.raises(UsageError, match="number 99"):
        retry_letters(world.store, [1, 99], world.clock())
    with pytest.raises(UsageError, match="number 99"):
        drop_letters(world.store, [99], world.clock())


def test_the_oldest_dead_letters_go_when_there_are_too_many(world: World) -> None:
    job = dead_letters(world, MemoryExporter())
    job.close()
    letters = list_letters(world.store)
    Outbox(world.store).prune("out", 400, world.clock())
    assert [letter.id for letter in list_letters(world.store)] == [letters[-1].id]

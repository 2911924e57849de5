"""Values, names and types equal what a walk over every operation finds, whatever the shortcut."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from tests.made import SECOND, T0
from tests.query_server import NOW, TOKENS, made, open_filled

from whyflame.config import Config, QueryConfig
from whyflame.model import Kind, Status
from whyflame.serve.pyroscope.asking import Asking, Settings
from whyflame.serve.pyroscope.labelling import label_names, label_values, series_labels
from whyflame.serve.pyroscope.ranges import TimeRange
from whyflame.store.owner import owned_by
from whyflame.store.running import RunningQuery

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from whyflame.model import Operation
    from whyflame.store.duck import Store

COUNT = 3000
SPREAD = 200_000
TENANTS = ("", "team-a")
ERRORS = "errors:errors:count:agent:count"
OF_LABEL: dict[str, Callable[[Operation], Sequence[str]]] = {
    "agent": lambda op: [op.agent or ""],
    "model": lambda op: [op.model or ""],
    "session": lambda op: [op.session],
    "service_name": lambda op: [op.span.service or ""],
    "path": lambda op: op.path,
    "task": lambda op: op.path[-1:],
    "team": lambda op: [op.span.extra.get("team", "")],
}


def some_operation(number: int, dice: random.Random) -> Operation:
    """Calls and tools of two tenants, some without an end, in no order of time."""
    at = T0 + dice.randrange(SPREAD) * SECOND
    is_call = dice.random() < 0.6
    failed = dice.random() < 0.02
    return made(
        number // 4,
        number,
        ";".join(f"task {dice.randrange(60)}" for _ in range(dice.randrange(3))),
        dice.choice([None, 0, 50]) if is_call else None,
        tenant=TENANTS[number // 4 % 2],
        session=f"s{number // 8}",
        service=f"svc {dice.randrange(12)}" if is_call else "tools only",
        agent=f"agent {dice.randrange(30)}",
        model=f"model {dice.randrange(5)}" if is_call else None,
        kind=Kind.LLM if is_call else Kind.TOOL,
        status=Status.ERROR if failed else Status.OK,
        errors=int(failed),
        extra={"team": f"team {dice.randrange(3)}"} if dice.random() < 0.3 else {},
        start_ns=at,
        end_ns=None if dice.random() < 0.1 else at + SECOND,
        wall_ns=SECOND,
    )


OPERATIONS = [some_operation(number, random.Random(number)) for number in range(COUNT)]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    opened = open_filled(tmp_path_factory.mktemp("laws") / "w.duckdb", OPERATIONS)
    yield opened
    opened.close()


def ended(op: Operation) -> int:
    return op.span.end_ns or op.span.start_ns or 0


def chosen(tenant: str, range_: TimeRange) -> list[Operation]:
    return [
        op
        for op in OPERATIONS
        if op.span.tenant == tenant and range_.since_ns <= ended(op) < range_.until_ns
    ]


def has_tokens(op: Operation) -> bool:
    return any((op.input_uncached or 0, op.cache_read or 0, op.output_visible or 0))


RANGES = {
    "all of it": TimeRange(T0 // 1_000_000, NOW // 1_000_000 + 10 * SPREAD * 1000),
    "the middle": TimeRange(T0 // 1_000_000 + 50_000_000, T0 // 1_000_000 + 120_000_000),
    "a moment": TimeRange(T0 // 1_000_000 + 50_000_000, T0 // 1_000_000 + 50_400_000),
    "before": TimeRange(1, 1000),
}


def asking(store: Store, tenant: str, limit: int = 1000) -> Asking:
    config = Config(fields={"team": "resource.team"}, query=QueryConfig(max_label_values=limit))
    return Asking(RunningQuery(store, 1_000_000), Settings.of(config), tenant, NOW)


@pytest.mark.parametrize("tenant", TENANTS)
@pytest.mark.parametrize("when", RANGES)
@pytest.mark.parametrize("label", OF_LABEL)
@pytest.mark.parametrize("limit", [3, 1000])
@pytest.mark.parametrize("selector", ["", f'{{__profile_type__="{TOKENS}"}}'])
def test_values(
    store: Store, label: str, when: str, tenant: str, limit: int, selector: str
) -> None:
    """The newest ones, of one tenant, in the range, with the measure asked for."""
    newest: dict[str, int] = {}
    for op in chosen(tenant, RANGES[when]):
        if selector and not has_tokens(op):
            continue
        for text in filter(None, OF_LABEL[label](op)):
            newest[text] = max(newest.get(text, 0), ended(op))
    ranked = sorted(newest, key=lambda text: (-newest[text], text))[:limit]
    found = label_values(
        asking(store, tenant, limit), label, [selector] if selector else [], RANGES[when]
    )
    # Which of several that were used at the same moment is left out is nobody's concern.
    assert [newest[text] for text in sorted(found, key=lambda text: (-newest[text], text))] == [
        newest[text] for text in ranked
    ]
    assert found == sorted(set(found))
    if limit > len(newest):
        assert set(found) == set(newest)


@pytest.mark.parametrize("tenant", TENANTS)
@pytest.mark.parametrize("when", RANGES)
def test_types(store: Store, when: str, tenant: str) -> None:
    """A type is there when any operation of its filter has something of its measure."""
    found = label_values(asking(store, tenant), "__profile_type__", [], RANGES[when])
    among = chosen(tenant, RANGES[when])
    assert (TOKENS in found) == any(has_tokens(op) for op in among)
    assert (ERRORS in found) == any(op.errors for op in among)
    assert not any(":cost:" in type_id or "_bytes:" in type_id for type_id in found)
    assert any(":operations:" in type_id for type_id in found) == bool(among)


@pytest.mark.parametrize("tenant", TENANTS)
@pytest.mark.parametrize("when", RANGES)
def test_names_and_series(store: Store, when: str, tenant: str) -> None:
    among = chosen(tenant, RANGES[when])
    names = label_names(asking(store, tenant), [], RANGES[when])
    for label, values in OF_LABEL.items():
        assert (label in names) == any(text for op in among for text in values(op)), label
    pairs = series_labels(asking(store, tenant), ["agent", "model"], [], RANGES[when])
    # A label without a value is left out.
    expected = {
        (("agent", op.agent), *((("model", op.model),) if op.model else ())) for op in among
    }
    assert set(pairs) == expected


def test_an_id_that_may_be_given_away_again_selects_nothing(store: Store) -> None:
    """A tenant's first rows may fail to commit; its id then names something else."""
    provisional: Any = store.strings.code("team new")
    assert store.strings.find("team new") == provisional
    assert owned_by(store, "team new").sql == "FALSE"
    store.strings.forget()
    assert owned_by(store, "team-a").sql == f"tenant = {store.strings.find('team-a')}"

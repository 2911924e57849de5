"""Text cases for projections: operations, questions, and the stacks they must give.

    load                                    starts a store with these operations
      agent=coder path=fix_login/run_tests input_uncached=10 ...
    fold stack=agent,path measure=tokens where=kind=llm
      coder;fix login;run tests 10          every stack with width, sorted
    fail stack=agnt
      part of the message

A blank stands for an underscore in values; `-` is an unknown value; `#` begins a comment.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from whyflame.fold import folded
from whyflame.fold.fold import fold_columns, fold_rows
from whyflame.fold.projection import Projection, compile_query, make_projection
from whyflame.fold.timerange import parse_time
from whyflame.store.schema import CODED_COLUMNS, TABLES, VIEWS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import duckdb

    from whyflame.fold.profile import Profile

NOW_NS = 1_000_000_000_000


@dataclass
class Block:
    """One directive with the lines below it."""

    verb: str
    options: dict[str, list[str]]
    lines: list[str]
    number: int


def blocks(text: str) -> Iterator[Block]:
    current: Block | None = None
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.split("#", 1)[0].rstrip()
        if not line:
            continue
        if line[0] != " ":
            if current:
                yield current
            verb, *words = shlex.split(line)
            options: dict[str, list[str]] = {}
            for word in words:
                key, _, value = word.partition("=")
                options.setdefault(key, []).append(value)
            current = Block(verb, options, [], number)
        else:
            assert current, f"line {number} belongs to nothing"
            current.lines.append(line.strip())
    if current:
        yield current


@dataclass
class CaseStore:
    """The store's tables in a DuckDB in memory, filled from text."""

    connection: duckdb.DuckDBPyConnection
    _strings: dict[str, int] = field(default_factory=dict)
    _paths: dict[tuple[str, ...], int] = field(default_factory=dict)
    _rows: int = 0

    def __post_init__(self) -> None:
        self.connection.execute(TABLES)
        self.connection.execute(VIEWS)

    def load(self, lines: Iterable[str]) -> None:
        for line in lines:
            self._insert(dict(word.split("=", 1) for word in shlex.split(line)))

    def _insert(self, values: dict[str, str]) -> None:
        self._rows += 1
        row: dict[str, Any] = {
            "span_key": self._rows,
            "trace_key": self._rows,
            "generation": 1,
            "counted": True,
            "operations": 1,
            "errors": 0,
            "start_ns": 0,
            "end_ns": 0,
        }
        row.update({name: self._value(name, text) for name, text in values.items()})
        row["path_id"] = row.pop("path", None)
        names = ", ".join(row)
        marks = ", ".join("?" * len(row))
        self.connection.execute(
            f"INSERT INTO settled ({names}) VALUES ({marks})", list(row.values())
        )
        self.connection.execute("INSERT INTO generations VALUES (?, 1, 0, 0)", [self._rows])

    def _value(self, name: str, text: str) -> Any:
        if text == "-":
            return None
        text = text.replace("_", " ") if name != "kind" else text
        if name == "path":
            return self._path(tuple(text.split("/")) if text else ())
        if name == "extra":
            return dict(pair.split(":") for pair in text.split(","))
        if name in CODED_COLUMNS:
            return self._string(text)
        return text == "true" if text in {"true", "false"} else int(text)

    def _string(self, text: str) -> int:
        if text not in self._strings:
            self._strings[text] = len(self._strings)
            self.connection.execute(
                "INSERT INTO strings VALUES (?, ?)", [self._strings[text], text]
            )
        return self._strings[text]

    def _path(self, names: tuple[str, ...]) -> int:
        if names not in self._paths:
            self._paths[names] = len(self._paths)
            self.connection.execute(
                "INSERT INTO paths VALUES (?, ?)", [self._paths[names], list(names)]
            )
        return self._paths[names]

    def strings(self, ids: Iterable[int]) -> dict[int, str]:
        wanted = set(ids)
        return {number: text for text, number in self._strings.items() if number in wanted}

    def paths(self, ids: Iterable[int]) -> dict[int, tuple[str, ...]]:
        wanted = set(ids)
        return {number: names for names, number in self._paths.items() if number in wanted}

    def fold(self, projection: Projection) -> Profile:
        """The profile, computed in every way."""
        query = compile_query(projection)
        bounds = self.connection.execute(query.bounds_sql, query.bounds_params).fetchone()
        assert bounds is not None
        rows = self.connection.execute(query.sql, query.params).fetchall()
        arrays = self.connection.execute(query.sql, query.params).fetchnumpy()
        profile = fold_rows(query, rows, self, bounds[:2])
        assert fold_columns(query, list(arrays.values()), self, bounds[:2]) == profile
        self._check_timed(projection, profile)
        return profile

    def _check_timed(self, projection: Projection, profile: Profile) -> None:
        """The time range from the same statement, in both ways, changes nothing."""
        query = compile_query(projection, timed=True)
        if query.is_timed:
            rows = self.connection.execute(query.sql, query.params).fetchall()
            arrays = self.connection.execute(query.sql, query.params).fetchnumpy()
            assert fold_rows(query, rows, self) == profile
            assert fold_columns(query, list(arrays.values()), self) == profile


def projection_of(block: Block) -> Projection:
    one = {name: values[-1] for name, values in block.options.items()}
    projection = make_projection(
        stack=one["stack"].split(","),
        measure=one.get("measure", "tokens"),
        where=block.options.get("where", []),
        promoted=one.get("promoted", "").split(","),
        labels=one["labels"].split(",") if "labels" in one else (),
    )
    bounds = {
        f"{name}_ns": parse_time(one[name], NOW_NS) for name in ("since", "until") if name in one
    }
    waits = one.get("waits", "") == "true"
    return _with(projection, **bounds, tenant=one.get("tenant", ""), waits=waits)


def _with(projection: Projection, **changes: Any) -> Projection:
    from dataclasses import replace

    return replace(projection, **changes)


def folded_lines(profile: Profile) -> list[str]:
    return folded.encode(profile).decode().splitlines()

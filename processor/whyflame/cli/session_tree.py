"""One run as a tree in the terminal: lanes, tasks, steps, and what each of them cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rich.text import Text
from rich.tree import Tree

from whyflame.cli.tables import money, seconds

__all__ = ["run_tree"]


@dataclass(slots=True)
class _Branch:
    """A run, lane or task, summed over all that lies in it."""

    name: str
    tree: Tree = field(default_factory=lambda: Tree(""))
    inner: list[_Branch] = field(default_factory=list)
    sums: dict[str, int] = field(default_factory=dict)

    def open(self, name: str) -> _Branch:
        """A branch in this one, at the end of what is there so far."""
        made = _Branch(name)
        self.tree.children.append(made.tree)
        self.inner.append(made)
        return made

    def count(self, op: dict[str, Any]) -> None:
        """Add what an operation is known to have cost."""
        for key in ("tokens", "cost_nanousd", "self_ns"):
            if op[key] is not None:
                self.sums[key] = self.sums.get(key, 0) + op[key]

    def label(self, *, is_run: bool = False) -> None:
        """Write its name and sums, now that all is counted, and theirs that lie in it."""
        self.tree.label = Text(self.name, "bold").append(_told(self.sums, with_cost=is_run), "dim")
        for branch in self.inner:
            branch.label()


def run_tree(session: str, run: dict[str, Any]) -> Tree:
    """Lanes > tasks > operations of one run, as `/api/v1/sessions/ID` tells them."""
    goal = f"  {run['root']}" if run["root"] else ""
    outcome = f"  [{run['outcome']}]" if run["outcome"] else ""
    whole = _Branch(f"{session}  run {run['run']}{goal}{outcome}")
    for lane in run["lanes"]:
        title = lane["lane"] if not lane["agent"] else f"{lane['lane']}  agent {lane['agent']}"
        branch, open_path = whole.open(title), list[_Branch]()
        for op in lane["operations"]:
            _descend(branch, open_path, op["path"])
            for outer in (whole, branch, *open_path):
                outer.count(op)
            (open_path[-1] if open_path else branch).tree.add(Text(_line(op)))
    whole.label(is_run=True)
    return whole.tree


def _descend(lane: _Branch, open_path: list[_Branch], path: list[str]) -> None:
    """Close the intervals that an operation is no longer in, open those that it is in."""
    same = 0
    while same < min(len(path), len(open_path)) and open_path[same].name == path[same]:
        same += 1
    del open_path[same:]
    for name in path[same:]:
        open_path.append((open_path[-1] if open_path else lane).open(name))


def _told(sums: dict[str, int], *, with_cost: bool) -> str:
    parts = [f"{sums['tokens']:,} tokens"] if "tokens" in sums else []
    if with_cost and "cost_nanousd" in sums:
        parts.append(money(sums["cost_nanousd"] / 1e9))
    if "self_ns" in sums:
        parts.append(seconds(sums["self_ns"] / 1e9))
    return "".join(f"  {part}" for part in parts)


def _line(op: dict[str, Any]) -> str:
    said = (op["name"] or op["kind"]) + _told(
        {key: op[key] for key in ("tokens", "self_ns") if op[key] is not None}, with_cost=False
    )
    failed = f"  failed: {op['error_type'] or 'error'}" if op["status"] == "error" else ""
    return f"{said}{failed}"

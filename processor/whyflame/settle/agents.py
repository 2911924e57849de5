"""Who works: which agent each operation belongs to, and which spans hold model calls of their own.

A lane is opened for an agent, not for a wrapper: frameworks nest workflow, chain, step and agent
spans around one agent. What tells an agent from a wrapper is that it declares another name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from whyflame.model import Kind
from whyflame.settle.tree import NO_PARENT

if TYPE_CHECKING:
    from whyflame.settle.tree import Tree

__all__ = ["Agents", "find_agents"]


@dataclass(slots=True)
class Agents:
    """Per position of the tree.

    Attributes:
        calling: A counted model call is the operation itself or lies below it without a tool
            between. A calling tool hosts a sub-agent.
        frames: Nearest ancestor that is counted or an agent span, NO_PARENT for none.
        heads: Position of the agent span (or calling tool) whose work this is; NO_PARENT for none.
        last_calls: By head, start of its last own model call.
        last_controls: By head, start of its last control call (hand-off).
    """

    calling: list[bool]
    frames: list[int]
    heads: list[int]
    last_calls: dict[int, int]
    last_controls: dict[int, int]

    def is_subagent(self, position: int, outer: int, start: int) -> bool:
        """Whether an agent span below the work of `outer` is a sub-agent.

        It is not when `outer` makes no model calls itself (it only frames), or when it handed
        the conversation over: its last act was a control call and no model call of its own follows.
        """
        if outer < 0 or outer not in self.last_calls or self.heads[position] != position:
            return False
        last_call = self.last_calls[outer]
        handed_over = last_call <= self.last_controls.get(outer, last_call - 1) <= start
        return not handed_over


def find_agents(tree: Tree) -> Agents:
    """Read the agents off the tree; operations without an agent name inherit the nearest one."""
    size = len(tree.operations)
    agents = Agents(_find_calling(tree), [NO_PARENT] * size, [NO_PARENT] * size, {}, {})
    names: list[str | None] = [None] * size
    operations, owners, calling = tree.operations, tree.owners, agents.calling
    kinds, counted, frames, heads = tree.kinds, tree.counted, agents.frames, agents.heads
    for position in tree.order:
        operation, owner = operations[position], owners[position]
        kind, name, head = kinds[position], None, NO_PARENT
        if owner >= 0:
            name, head = names[owner], heads[owner]
            is_frame = counted[owner] or kinds[owner] is Kind.AGENT
            frames[position] = owner if is_frame else frames[owner]
            if kinds[owner] is Kind.TOOL and calling[owner] and counted[owner]:
                head = owner
        declared = operation.agent
        is_agent = kind is Kind.AGENT and counted[position]
        if declared is None:
            operation.agent = name
        elif is_agent:
            if declared != name:
                head = position
            name = declared
        if head < 0 and is_agent:
            head = position
        names[position], heads[position] = name, head
        if counted[position]:
            _note_work(agents, kind, head, tree.starts[position])
    return agents


def _find_calling(tree: Tree) -> list[bool]:
    kinds, counted, owners = tree.kinds, tree.counted, tree.owners
    calling = [False] * len(kinds)
    for position in reversed(tree.order):
        kind = kinds[position]
        if kind is Kind.LLM and counted[position]:
            calling[position] = True
        if calling[position]:
            owner = owners[position]
            if owner >= 0 and not (kind is Kind.TOOL and counted[position]):
                calling[owner] = True
    return calling


def _note_work(agents: Agents, kind: Kind, head: int, start: int) -> None:
    if kind is Kind.LLM:
        agents.last_calls[head] = max(start, agents.last_calls.get(head, start))
    elif kind is Kind.CONTROL:
        agents.last_controls[head] = max(start, agents.last_controls.get(head, start))

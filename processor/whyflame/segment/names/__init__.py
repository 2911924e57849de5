"""Names of intervals: a verb of the table and one or two object words.

In the order in which words pass: `tables` (verbs, aliases, singulars, from the two YAML files), `clauses`
(which words of a clause are the verb and objects), `evidence` (what a span says, read once), `pieces` (which
spans tell about an interval), `spoken` (its verbs), `focus` (what the lane says), `signals` (what can speak for
an object word), `ranking` (what does), `wording` (how likely that makes it, which names are shared),
`spelling` (the names, best first), `namer` (all of it).
"""

from whyflame.segment.names.namer import Named, Namer
from whyflame.segment.names.pieces import Stretches
from whyflame.segment.names.tables import NameTables, load_tables
from whyflame.segment.names.wording import Wording

__all__ = ["NameTables", "Named", "Namer", "Stretches", "Wording", "load_tables"]

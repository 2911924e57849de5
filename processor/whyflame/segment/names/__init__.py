"""Names of intervals: a verb of the table and one or two object words."""

from whyflame.segment.names.namer import Named, Namer
from whyflame.segment.names.pieces import Stretches
from whyflame.segment.names.tables import NameTables, load_tables
from whyflame.segment.names.wording import Wording

__all__ = ["NameTables", "Named", "Namer", "Stretches", "Wording", "load_tables"]

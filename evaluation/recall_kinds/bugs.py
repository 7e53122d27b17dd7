"""Bugs that linters name and reviewers find, as functions at the end of real files; the code is in `pages/bugs-*.txt`."""

from .places import Lenses, pages, written

LENSES = Lenses("suspicious-expression", "unchecked-result", "forgotten-await", "dangerous-call", "costly-loop", "shortcut")
KINDS = written("bugs", LENSES, pages("bugs"))

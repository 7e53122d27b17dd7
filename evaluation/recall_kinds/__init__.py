"""The kinds of fault that recall.py adds, each with what an honest author writes in its place."""

from . import (
    agents,
    architecture,
    bugs,
    callers,
    calls,
    consistency,
    conventions,
    dependency,
    gate,
    gate_files,
    performance,
    secret,
    shortcuts,
    text,
    workflow,
)
from .base import Tree

MODULES = [secret, workflow, dependency, text, calls, gate, gate_files, consistency, architecture, performance, shortcuts, bugs, callers, agents, conventions]  # fmt: skip
KINDS = [kind for module in MODULES for kind in module.KINDS]

__all__ = ["KINDS", "Tree"]

"""The kinds of fault that recall.py adds, each with what an honest author writes in its place."""

from . import architecture, calls, consistency, dependency, gate, gate_files, performance, secret, text, workflow
from .base import Tree

MODULES = [secret, workflow, dependency, text, calls, gate, gate_files, consistency, architecture, performance]
KINDS = [kind for module in MODULES for kind in module.KINDS]

__all__ = ["KINDS", "Tree"]

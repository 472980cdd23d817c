"""Where bytes come from: the work tree or a commit, read within its root, without links."""

from gpulint.source.repository.source import FILE_BYTES_MAX, Gathered, Repository, Source
from gpulint.source.repository.tree import Tree
from gpulint.source.repository.work_tree import WorkTree, find_root

__all__ = ["FILE_BYTES_MAX", "Gathered", "Repository", "Source", "Tree", "WorkTree", "find_root"]

"""Matching: which interfaces does this message match?"""

from cbnet.matching.explain import Explanation, Failure, NearMiss
from cbnet.matching.table import Interface, Table

__all__ = ["Explanation", "Failure", "Interface", "NearMiss", "Table"]

"""Workloads: the papers' generators of filters and messages, and dense ranges.

parameters of a mix ─► scenario ─┬─► filters     an Arrow table, one row per constraint
                                 └─► messages    an Arrow batch, one row per message
parameters of [2006 §4.2] ─────────► predicates  an Arrow table like that of filters
"""

from cbnet_lab.workload.dense_ranges import DenseRanges
from cbnet_lab.workload.disjunction_2006 import SCENARIOS, Disjunction2006, predicates
from cbnet_lab.workload.filter_table import filters
from cbnet_lab.workload.forwarding import MIXES, Forwarding2001, Forwarding2002, mix
from cbnet_lab.workload.message_batch import as_messages, messages
from cbnet_lab.workload.scenario import Scenario, ValueDomain, WorkloadParameters

__all__ = [
    "MIXES", "SCENARIOS", "DenseRanges", "Disjunction2006", "Forwarding2001", "Forwarding2002", "Scenario",
    "ValueDomain", "WorkloadParameters", "as_messages", "filters", "messages", "mix", "predicates",
]  # fmt: skip

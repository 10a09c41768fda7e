"""Matching with the pivot index, from attributes to targets. `pivot_view.pxd` draws the arrays.

Lookups are queued first and read a little later, when the cache has fetched them. Several messages take each step
together, so that there is something to do meanwhile:

    attributes ──► places   ──► word    buckets to look up  ──► visit   postings queued ──► tests   ──► targets
                   fetched              slots are fetched               fetched             fetched
    └──────────────────────────── begin_matching ─────────────────────────────────────────────────┘  finish_matching

In a message with several values of an attribute, or with arrays of objects, every value is looked up, and an
entry is checked as a whole by `binding_search`: one value must pass the pivot and all other words of its symbol. A
bucket or list that several values lead to is visited once, so a long array costs no more than its length.
"""

from libc.stdint cimport uint32_t

from cbnet._kernels.pivot_state cimport State
from cbnet._kernels.pivot_view cimport View

cdef enum:
    MESSAGES_AT_ONCE = 8

cdef void begin_matching(const View *view, State *states, uint32_t count) noexcept nogil
cdef void finish_matching(const View *view, State *state) noexcept nogil

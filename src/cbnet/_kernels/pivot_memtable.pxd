"""Uncompiled filters that can be added and removed one by one."""

from libc.stdint cimport uint32_t

from cbnet._kernels.target_set cimport TargetSet

cdef class MemtableIndex:
    cdef dict equal
    cdef dict tagged
    cdef dict named
    cdef list always
    cdef dict names                     # filters by the name that they use
    cdef dict roots                     # the same by its part before the first dot
    cdef readonly Py_ssize_t longest    # bucket so far
    cdef readonly Py_ssize_t filters
    cdef readonly Py_ssize_t conditional    # filters with conditions
    cdef list _bucket(self, frozenset tests)
    cdef bint add_targets(self, dict members, list tags, TargetSet *targets) except -1

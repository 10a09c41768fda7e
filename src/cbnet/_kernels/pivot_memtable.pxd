"""Uncompiled filters that can be added and removed one by one, in flat memory.

A filter is filed in one bucket, under the rarest of its requirements. The key of a bucket is a hash of 64 bits:

    EQUAL   name, value    an attribute with this value, perhaps null
    TAGGED  tag            a tag
    NAMED   name           an attribute, whatever its value
    ALWAYS                 nothing

    buckets   │ key, first, size, users │ free │ …   an open hash table, half of it free
    filed     │ tests, key, next, before │ …         a bucket is a list of filters through `next`

All tests of a filter are made, also that of its bucket, so two requirements with one hash do no harm.

The same table counts, as `users`, the tests of a name (in its NAMED bucket) and of the attributes inside an object
(INSIDE). Nested messages and conditions are left to the caller, who asks for the candidates.

Invariant: every filter is in the bucket of its key; the size of a bucket is the length of its list. An empty bucket is
forgotten when the table is rebuilt, which happens before it is half full: memory is proportional to the filters.
"""

from cpython.object cimport PyObject
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t

from cbnet._kernels.frame_message cimport FrameMessage
from cbnet._kernels.memtable_test cimport MemtableTest
from cbnet._kernels.target_set cimport TargetSet

cdef struct FiledFilter:
    MemtableTest *tests         # NULL: the place is free
    uint64_t mask               # of the hashes of names and tags: rejects most candidates
    uint64_t key                # of its bucket
    PyObject *item              # its key in `places`
    uint32_t count              # of tests
    uint32_t target
    int32_t next, before        # in the bucket, or among the free places; -1: none
    uint8_t is_conditional

cdef struct Bucket:
    uint64_t key                # 0: free
    int32_t first               # -1: none
    uint32_t size
    uint32_t users

cdef class MemtableIndex:
    cdef dict places                        # item -> place in `filed`
    cdef FiledFilter *filed
    cdef int32_t filed_count, filed_room, free
    cdef Bucket *buckets
    cdef uint64_t bucket_mask
    cdef uint64_t keys                      # buckets that have a key
    cdef readonly Py_ssize_t longest        # bucket so far
    cdef readonly Py_ssize_t conditional    # filters with conditions or computed attributes
    cdef Bucket *_own_bucket(self, uint64_t key) except NULL
    cdef int _rebuild(self) except -1
    cdef uint64_t _rarest(self, const FiledFilter *filter) noexcept nogil
    cdef int32_t _free_place(self) except -1
    cdef int _file(self, int32_t place) except -1
    cdef void _take_out(self, int32_t place) noexcept nogil
    cdef int _count_names(self, const FiledFilter *filter, int step) except -1
    cdef int _count_name(self, uint64_t hash, const char *name, uint32_t length, int step) except -1
    cdef int _list_bucket(self, uint64_t key, bint conditional_only, list found) except -1
    cdef bint has_read(self, const FrameMessage *message) noexcept nogil
    cdef void add_targets(self, const FrameMessage *message, TargetSet *targets) noexcept nogil

cdef int read_members(dict members, list tags, FrameMessage *message) except -1

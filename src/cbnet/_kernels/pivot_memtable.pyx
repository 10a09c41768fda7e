"""Uncompiled filters that can be added and removed one by one, in flat memory. See `pivot_memtable.pxd`."""

from cpython.dict cimport PyDict_Next
from cpython.mem cimport PyMem_RawFree
from cpython.object cimport PyObject
from cpython.unicode cimport PyUnicode_CheckExact
from libc.stdint cimport int32_t, uint32_t, uint64_t

from cbnet._kernels.condition_eval import mentions
from cbnet._kernels.byte_strings cimport MIX, PyUnicode_AsUTF8AndSize, hash_bytes
from cbnet._kernels.dict_encoding cimport is_scalar, read_value
from cbnet._kernels.frame_message cimport FrameMessage, ReadAttribute, index_attributes, make_room
from cbnet._kernels.memory cimport resized, zeroed
from cbnet._kernels.memtable_test cimport MemtableTest, create_tests, free_tests, passes_test, value_hash
from cbnet._kernels.message_encoding cimport TAG, Attribute
from cbnet._kernels.target_set cimport TargetSet, add_target, has_target
from cbnet._kernels.test_codes cimport *

cdef extern from *:
    """
    #define ALWAYS 1ULL
    """
    const uint64_t ALWAYS

cdef enum Requirement:
    EQUAL = 1
    TAGGED
    NAMED
    INSIDE

cdef enum:
    FEWEST_BUCKETS = 64
    INVALID_VALUE = 254  # kinds of values in `read_members` that are not plain: a value of a wrong type or size,
    CONTAINER = 255      # and an object, an array or something unknown


cdef inline uint64_t _key(Requirement requirement, uint64_t name, uint64_t value) noexcept nogil:
    cdef uint64_t key = (name ^ (<uint64_t> requirement * MIX)) * MIX
    key = (key ^ (key >> 29) ^ value) * MIX
    return (key ^ (key >> 32)) | 2  # never free, and never ALWAYS


cdef inline uint64_t _mask_bit(uint64_t hash) noexcept nogil:
    return (<uint64_t> 1) << (hash >> 58)


cdef inline Bucket *_bucket(MemtableIndex index, uint64_t key) noexcept nogil:
    """Return the bucket of a key, or the free one where it would be, which is empty."""
    cdef uint64_t slot = (key >> 7) & index.bucket_mask
    while index.buckets[slot].key and index.buckets[slot].key != key:
        slot = (slot + 1) & index.bucket_mask
    return index.buckets + slot


cdef inline bint _may_be_computed(str name) noexcept:
    """Return whether a name may be that of a computed attribute, which only Python reads; see `language.computed`."""
    return "[" in name or name.endswith(")")


cdef class MemtableIndex:
    """Filters with their targets, filed for matching. An item is a pair of a target and a set of tests."""

    def __cinit__(self):
        self.places = {}
        self.filed = NULL
        self.free = -1
        self.buckets = NULL
        self._rebuild()

    def __dealloc__(self):
        cdef int32_t place
        for place in range(self.filed_count):
            free_tests(self.filed[place].tests)
        PyMem_RawFree(self.filed)
        PyMem_RawFree(self.buckets)

    def __len__(self):
        return len(self.places)

    def __contains__(self, item):
        return item in self.places

    def __iter__(self):
        return iter(list(self.places))

    # --- changes

    def add(self, tuple item):
        """Add a filter; return whether it was absent."""
        cdef int32_t place
        cdef FiledFilter *filter
        cdef uint32_t i
        cdef frozenset tests = item[1]
        if item in self.places:
            return False
        place = self._free_place()
        filter = self.filed + place
        filter.target = item[0]
        filter.tests = create_tests(tests, &filter.count)
        filter.is_conditional = any([code == CONDITION or _may_be_computed(name) for name, code, _ in tests])
        filter.mask = 0
        for i in range(filter.count):
            filter.mask |= _mask_bit(filter.tests[i].hash)
        filter.item = <PyObject *> item
        self.free = filter.next
        self.places[item] = place
        self.conditional += filter.is_conditional
        self._count_names(filter, 1)
        self._file(place)
        return True

    def discard(self, tuple item):
        """Remove a filter; return whether it was there."""
        cdef FiledFilter *filter
        cdef object found = self.places.get(item)
        cdef int32_t place
        if found is None:
            return False
        place = found
        filter = self.filed + place
        self.conditional -= filter.is_conditional
        self._count_names(filter, -1)
        self._take_out(place)
        free_tests(filter.tests)
        filter.tests = NULL
        filter.next = self.free
        self.free = place
        del self.places[item]
        return True

    cdef int32_t _free_place(self) except -1:
        """Return a free place, which is still the first one."""
        cdef int32_t room, place
        if self.free >= 0:
            return self.free
        if self.filed_count == self.filed_room:
            room = 2 * self.filed_room + 16
            self.filed = <FiledFilter *> resized(self.filed, room * sizeof(FiledFilter))
            self.filed_room = room
        place = self.filed_count
        self.filed[place].tests = NULL
        self.filed[place].next = -1
        self.filed_count += 1
        self.free = place
        return place

    cdef int _file(self, int32_t place) except -1:
        """Add a filter to the bucket of its rarest requirement."""
        cdef FiledFilter *filter = self.filed + place
        cdef Bucket *bucket
        filter.key = self._rarest(filter)
        bucket = self._own_bucket(filter.key)
        filter.next = bucket.first
        filter.before = -1
        if bucket.first >= 0:
            self.filed[bucket.first].before = place
        bucket.first = place
        bucket.size += 1
        self.longest = max(self.longest, <Py_ssize_t> bucket.size)
        return 0

    cdef void _take_out(self, int32_t place) noexcept nogil:
        """Remove a filter from its bucket."""
        cdef FiledFilter *filter = self.filed + place
        cdef Bucket *bucket = _bucket(self, filter.key)
        bucket.size -= 1
        if filter.next >= 0:
            self.filed[filter.next].before = filter.before
        if filter.before >= 0:
            self.filed[filter.before].next = filter.next
        else:
            bucket.first = filter.next

    cdef uint64_t _rarest(self, const FiledFilter *filter) noexcept nogil:
        """Return the key of the shortest bucket for a value or tag, or else for a name."""
        cdef const MemtableTest *test
        cdef uint64_t key
        cdef uint64_t rarest = ALWAYS
        cdef uint32_t size, i
        cdef uint32_t least = 0
        for i in range(filter.count):
            test = filter.tests + i
            if test.code == IS_TAG:
                key = _key(TAGGED, test.hash, 0)
            elif test.code == BOOL_EQ or test.code == NUMBER_EQ or test.code == STRING_EQ or test.code == NULL_EQ:
                key = _key(EQUAL, test.hash, test.constants.hash)
            else:
                continue
            size = _bucket(self, key).size
            if rarest == ALWAYS or size < least:
                rarest, least = key, size
        if rarest == ALWAYS:
            for i in range(filter.count):
                key = _key(NAMED, filter.tests[i].hash, 0)
                size = _bucket(self, key).size
                if rarest == ALWAYS or size < least:
                    rarest, least = key, size
        return rarest

    # --- buckets

    cdef Bucket *_own_bucket(self, uint64_t key) except NULL:
        """Return the bucket of a key, which is created if it is absent."""
        cdef Bucket *bucket = _bucket(self, key)
        if bucket.key == 0:
            if 2 * self.keys > self.bucket_mask:
                self._rebuild()
                bucket = _bucket(self, key)
            bucket.key = key
            bucket.first = -1
            self.keys += 1
        return bucket

    cdef int _rebuild(self) except -1:
        """Move the buckets that are not empty to a table that is less than a quarter full."""
        cdef Bucket *old = self.buckets
        cdef uint64_t old_room = self.bucket_mask + 1 if old != NULL else 0
        cdef uint64_t room = FEWEST_BUCKETS
        cdef uint64_t i
        self.keys = 0
        for i in range(old_room):
            self.keys += old[i].size > 0 or old[i].users > 0
        while room <= 4 * self.keys:
            room *= 2
        self.buckets = <Bucket *> zeroed(room, sizeof(Bucket))
        self.bucket_mask = room - 1
        for i in range(old_room):
            if old[i].size or old[i].users:
                _bucket(self, old[i].key)[0] = old[i]
        PyMem_RawFree(old)
        return 0

    # --- names that filters use

    cdef int _count_names(self, const FiledFilter *filter, int step) except -1:
        """Count the names that a filter uses up or down."""
        cdef const MemtableTest *test
        cdef uint32_t i
        cdef Py_ssize_t length
        cdef const char *text
        for i in range(filter.count):
            test = filter.tests + i
            if test.code != IS_TAG:
                self._count_name(test.hash, test.name, test.name_length, step)
        if filter.is_conditional:
            for _, code, constant in (<tuple> <object> filter.item)[1]:
                if code == CONDITION:
                    for name, is_tag in mentions(constant):
                        if not is_tag:
                            text = PyUnicode_AsUTF8AndSize(name, &length)
                            self._count_name(hash_bytes(text, length, False), text, <uint32_t> length, step)
        return 0

    cdef int _count_name(self, uint64_t hash, const char *name, uint32_t length, int step) except -1:
        cdef uint32_t i
        self._own_bucket(_key(NAMED, hash, 0)).users += step
        for i in range(length):
            if name[i] == c".":
                self._own_bucket(_key(INSIDE, hash_bytes(name, i, False), 0)).users += step
        return 0

    def uses(self, str name):
        """Return whether a filter uses an attribute."""
        cdef Py_ssize_t length
        cdef const char *text = PyUnicode_AsUTF8AndSize(name, &length)
        return _bucket(self, _key(NAMED, hash_bytes(text, length, False), 0)).users > 0

    def uses_object(self, str path):
        """Return whether a filter uses an attribute of an object at a path."""
        cdef Py_ssize_t length
        cdef const char *text = PyUnicode_AsUTF8AndSize(path, &length)
        return _bucket(self, _key(INSIDE, hash_bytes(text, length, False), 0)).users > 0

    # --- matching

    def candidates(self, dict leaves, tags, bint conditional_only):
        """Return the filters that a message may match: its leaves and tags, see `Batch`."""
        cdef list found = []
        cdef Attribute attribute
        cdef Py_ssize_t length
        cdef const char *text
        cdef uint64_t hash
        cdef set keys = {ALWAYS}
        for name, values in leaves.items():
            text = PyUnicode_AsUTF8AndSize(name, &length)
            hash = hash_bytes(text, length, False)
            keys.add(_key(NAMED, hash, 0))
            for leaf in values:
                if read_value(leaf[0], &attribute):
                    keys.add(_key(EQUAL, hash, value_hash(&attribute)))
        for tag in tags:
            text = PyUnicode_AsUTF8AndSize(tag, &length)
            keys.add(_key(TAGGED, hash_bytes(text, length, True), 0))
        for key in keys:
            self._list_bucket(key, conditional_only, found)
        return found

    cdef int _list_bucket(self, uint64_t key, bint conditional_only, list found) except -1:
        cdef Bucket *bucket = _bucket(self, key)
        cdef int32_t place = bucket.first if bucket.key else -1
        while place >= 0:
            if self.filed[place].is_conditional or not conditional_only:
                found.append(<object> self.filed[place].item)
            place = self.filed[place].next
        return 0

    cdef bint has_read(self, const FrameMessage *message) noexcept nogil:
        """Return whether all values that filters use are plain and valid, and none is nested."""
        cdef const ReadAttribute *attribute
        cdef uint32_t i
        for i in range(message.count):
            attribute = message.attributes + i
            if attribute.value.kind >= INVALID_VALUE:
                if _bucket(self, _key(NAMED, attribute.hash, 0)).users:
                    return False
                if attribute.value.kind == CONTAINER and _bucket(self, _key(INSIDE, attribute.hash, 0)).users:
                    return False
        return True

    cdef void add_targets(self, const FrameMessage *message, TargetSet *targets) noexcept nogil:
        """Add the targets of a message to a set; those of filters with conditions are left out."""
        cdef const ReadAttribute *attribute
        cdef const Bucket *named
        cdef uint64_t mask = 0
        cdef uint32_t i
        for i in range(message.count):
            mask |= _mask_bit(message.attributes[i].hash)
        _add_bucket(self, _bucket(self, ALWAYS), message, mask, targets)
        for i in range(message.count):
            attribute = message.attributes + i
            if attribute.value.kind == TAG:
                _add_bucket(self, _bucket(self, _key(TAGGED, attribute.hash, 0)), message, mask, targets)
            elif attribute.value.kind < INVALID_VALUE:
                named = _bucket(self, _key(NAMED, attribute.hash, 0))
                if named.users:
                    _add_bucket(self, named, message, mask, targets)
                    _add_bucket(self, _bucket(self, _key(EQUAL, attribute.hash, value_hash(&attribute.value))),
                                message, mask, targets)


cdef inline void _add_bucket(MemtableIndex index, const Bucket *bucket, const FrameMessage *message, uint64_t mask,
                             TargetSet *targets) noexcept nogil:
    """Add the targets of the filters of a bucket that a message passes."""
    cdef int32_t place = bucket.first
    cdef const FiledFilter *filter
    cdef uint32_t test
    if bucket.size == 0:
        return
    while place >= 0:
        filter = index.filed + place
        place = filter.next
        if filter.mask & ~mask or filter.is_conditional or filter.target >= targets.total:
            continue
        if has_target(targets, filter.target):
            continue
        test = 0
        while test < filter.count and passes_test(filter.tests + test, message):
            test += 1
        if test == filter.count:
            add_target(targets, filter.target)


# --- messages in their JSON form

cdef int read_members(dict members, list tags, FrameMessage *message) except -1:
    """Read a message in its JSON form; return 0 if a name is not a string.

    Values that are not plain have the kind INVALID_VALUE or CONTAINER. The texts belong to `members` and `tags`.
    """
    cdef PyObject *name
    cdef PyObject *value
    cdef Py_ssize_t at = 0
    cdef ReadAttribute *attribute
    make_room(message, <uint32_t> (len(members) + len(tags)))
    attribute = message.attributes
    while PyDict_Next(members, &at, &name, &value):
        if not PyUnicode_CheckExact(<object> name):
            return 0
        _read_name(<object> name, False, attribute)
        if attribute.name_length == 1 and attribute.name[0] == c"#":
            continue
        if not read_value(<object> value, &attribute.value):
            attribute.value.kind = INVALID_VALUE if is_scalar(<object> value) else CONTAINER
        attribute += 1
    for tag in tags:
        _read_name(tag, True, attribute)
        attribute.value.kind = TAG
        attribute += 1
    message.count = <uint32_t> (attribute - message.attributes)
    index_attributes(message)
    return 1


cdef int _read_name(str name, bint is_tag, ReadAttribute *attribute) except -1:
    cdef Py_ssize_t length
    attribute.name = PyUnicode_AsUTF8AndSize(name, &length)
    attribute.name_length = <uint32_t> length
    attribute.hash = hash_bytes(attribute.name, length, is_tag)
    return 0


def have_conditions(tuple indexes):
    """Return whether a filter in some memtable has a condition."""
    cdef MemtableIndex index
    for index in indexes:
        if index.conditional:
            return True
    return False

"""Detection of duplicate packets, in bounded memory.

For each source, its incarnation and its tree the numbers of the last packets are kept, as a ring of bits: that of number n is
at n % 8,192. Bits from the highest number down are valid.

    highest   8194
    seen      1 0 1 0 …  1      8192 and 8194 were seen, 8193 was not; the bit of 8191 is the last one
              └ 8192     └ 8191

The packets of a source on one tree keep their order, and reach a router once. Only a packet that was committed again,
after a link failed, can come twice, or late. One below the window counts as new: no packet is refused that was not
delivered, and a client detects the rare one that was.

Windows are in a hash table by their key, and in a list in the order of use: when there are too many, the least recently
used one is evicted.
"""

from cpython.mem cimport PyMem_RawFree
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.string cimport memcmp, memcpy, memset

from cbnet._kernels.byte_strings cimport PyUnicode_AsUTF8AndSize, hash_bytes
from cbnet._kernels.memory cimport resized, zeroed

WINDOW = WINDOW_BITS


cdef inline bint _is_of(
    const Window *window, const char *source, uint32_t length, uint64_t incarnation, uint32_t tree
) noexcept nogil:
    return (
        window.incarnation == incarnation and window.tree == tree and window.length == length
        and memcmp(<const char *> (window + 1), source, length) == 0
    )


cdef inline void _set_bit(Window *window, int64_t number) noexcept nogil:
    window.seen[(number % WINDOW_BITS) >> 6] |= (<uint64_t> 1) << (number & 63)


cdef void _clear(Window *window, int64_t first, int64_t end) noexcept nogil:
    """Clear the bits of the numbers from `first` to `end` - 1, fewer than the window has."""
    while first < end:
        if first & 63 == 0 and end - first >= 64:
            window.seen[(first % WINDOW_BITS) >> 6] = 0
            first += 64
        else:
            window.seen[(first % WINDOW_BITS) >> 6] &= ~((<uint64_t> 1) << (first & 63))
            first += 1


cdef bint _record(Window *window, int64_t number) noexcept nogil:
    """Record a number; return whether it was not seen before, as far as is known."""
    cdef int64_t ahead = number - window.highest
    if ahead > 0:
        if ahead < WINDOW_BITS:
            _clear(window, window.highest + 1, number)
        else:
            memset(window.seen, 0, sizeof(window.seen))
        window.highest = number
    elif -ahead >= WINDOW_BITS:
        return True
    elif (window.seen[(number % WINDOW_BITS) >> 6] >> (number & 63)) & 1:
        return False
    _set_bit(window, number)
    return True


cdef class DuplicateDetector:
    """The packets that were seen."""

    def __cinit__(self, uint32_t max_sources=20_000):
        self.max_sources = max_sources
        self.newest = self.oldest = NULL
        self.mask, self.count = 15, 0
        self.buckets = <Window **> zeroed(self.mask + 1, sizeof(Window *))

    def __dealloc__(self):
        cdef Window *window = self.newest
        cdef Window *older
        while window != NULL:
            older = window.older
            PyMem_RawFree(window)
            window = older
        PyMem_RawFree(self.buckets)

    def __len__(self):
        return self.count

    def is_new(self, str source not None, uint64_t incarnation, uint32_t tree, int64_t number):
        """Record a packet; return whether it was not seen before, as far as is known."""
        cdef Py_ssize_t length
        cdef const char *text = PyUnicode_AsUTF8AndSize(source, &length)
        return self.is_new_packet(text, <uint32_t> length, incarnation, tree, number)

    def record_run(self, str source not None, uint64_t incarnation, uint32_t tree, int64_t first, int64_t count):
        """Record packets with consecutive numbers; return how many were not seen before, as far as is known."""
        cdef Py_ssize_t length
        cdef int64_t number, new = 0
        cdef const char *text = PyUnicode_AsUTF8AndSize(source, &length)
        for number in range(first, first + count):
            new += self.is_new_packet(text, <uint32_t> length, incarnation, tree, number)
        return new

    def highest(self):
        """Return the highest number of each source and its incarnation, over all trees."""
        cdef Window *window = self.newest
        cdef dict found = {}
        while window != NULL:
            key = PyUnicode_DecodeUTF8(<const char *> (window + 1), window.length, NULL), window.incarnation
            found[key] = max(window.highest, found.get(key, 0))
            window = window.older
        return found

    cdef bint is_new_packet(
        self, const char *source, uint32_t length, uint64_t incarnation, uint32_t tree, int64_t number
    ) except -1:
        cdef uint64_t hash
        cdef Window *window = self.newest
        if window == NULL or not _is_of(window, source, length, incarnation, tree):  # most packets have the source of the last
            hash = hash_bytes(source, length, incarnation * 64 + tree)
            window = self._find(source, length, hash, incarnation, tree)
            if window == NULL:
                self._add(source, length, hash, incarnation, tree, number)
                return True
            self._leave_order(window)
            self._use(window)
        return _record(window, number)

    cdef Window *_find(
        self, const char *source, uint32_t length, uint64_t hash, uint64_t incarnation, uint32_t tree
    ) noexcept:
        cdef Window *window = self.buckets[hash & self.mask]
        while window != NULL and not (window.hash == hash and _is_of(window, source, length, incarnation, tree)):
            window = window.next
        return window

    cdef int _add(
        self, const char *source, uint32_t length, uint64_t hash, uint64_t incarnation, uint32_t tree, int64_t number
    ) except -1:
        cdef Window *window
        if self.count >= self.max_sources:
            self._evict()
        if self.count > self.mask:
            self._rehash()
        window = <Window *> resized(NULL, sizeof(Window) + length)
        memset(window, 0, sizeof(Window))
        memcpy(<char *> (window + 1), source, length)
        window.hash, window.incarnation, window.tree, window.length = hash, incarnation, tree, length
        window.highest = number
        _set_bit(window, number)
        window.next = self.buckets[hash & self.mask]
        self.buckets[hash & self.mask] = window
        self.count += 1
        self._use(window)
        return 0

    cdef int _evict(self) except -1:
        """Remove the window used least recently."""
        cdef Window *window = self.oldest
        cdef Window **place = &self.buckets[window.hash & self.mask]
        while place[0] != window:
            place = &place[0].next
        place[0] = window.next
        self._leave_order(window)
        PyMem_RawFree(window)
        self.count -= 1
        return 0

    cdef int _rehash(self) except -1:
        """Double the number of buckets."""
        cdef Window *window = self.newest
        cdef uint32_t mask = 2 * self.mask + 1
        cdef Window **buckets = <Window **> zeroed(mask + 1, sizeof(Window *))
        while window != NULL:
            window.next = buckets[window.hash & mask]
            buckets[window.hash & mask] = window
            window = window.older
        PyMem_RawFree(self.buckets)
        self.buckets, self.mask = buckets, mask
        return 0

    # --- the order of use

    cdef void _use(self, Window *window) noexcept:
        """Put a window first."""
        window.newer, window.older = NULL, self.newest
        if self.newest != NULL:
            self.newest.newer = window
        else:
            self.oldest = window
        self.newest = window

    cdef void _leave_order(self, Window *window) noexcept:
        if window.newer != NULL:
            window.newer.older = window.older
        else:
            self.newest = window.older
        if window.older != NULL:
            window.older.newer = window.newer
        else:
            self.oldest = window.newer

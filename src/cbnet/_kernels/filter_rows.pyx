"""Rows of different filters in their byte form, found by filter: a dict and a list, for millions of them.

    rows     row ──► filter
    slots    hash of a filter ──► its row                     an open hash table, at least a third of it free
    former   the same, while its entries move to `slots`      some with each change

A dict of a million filters takes a tenth of a second to grow, when one filter too many is added; this one never takes
long. The garbage collector does not visit the filters, which refer to nothing.

Invariant: a filter has one entry, in `slots` or in `former`; a free row refers to the next free one, by an odd number.
"""

from cpython.mem cimport PyMem_RawFree
from cpython.object cimport PyObject, PyObject_Hash
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport int64_t, uint32_t, uint64_t, uintptr_t

from cbnet._kernels.memory cimport resized, zeroed

cdef enum:
    FEWEST_SLOTS = 64
    MOVED = 0xFFFFFFFF  # the row + 1 of an entry that has left `former`
    STEP = 64           # slots of `former` that are emptied with each change

cdef struct Slot:
    uint32_t hash
    uint32_t row        # + 1; 0: free


cdef class FilterRows:
    """Different filters, each with a row: a number that is used again when the filter is deleted."""

    cdef PyObject **_filters
    cdef Slot *_slots
    cdef Slot *_former
    cdef uint64_t _mask, _former_mask, _next_former
    cdef uint32_t _rows, _room, _free, _count
    cdef readonly uint64_t moved  # slots that were emptied, of all former tables

    def __cinit__(self):
        self._slots = <Slot *> zeroed(FEWEST_SLOTS, sizeof(Slot))
        self._mask = FEWEST_SLOTS - 1

    def __dealloc__(self):
        cdef uint32_t row
        for row in range(self._rows):
            if not <uintptr_t> self._filters[row] & 1:
                Py_DECREF(<object> self._filters[row])
        PyMem_RawFree(self._filters)
        PyMem_RawFree(self._slots)
        PyMem_RawFree(self._former)

    def __len__(self):
        return self._count

    def __getitem__(self, uint32_t row):
        """Return the filter of a row."""
        if row >= self._rows or <uintptr_t> self._filters[row] & 1:
            raise IndexError(f"row {row} has no filter")
        return <bytes> self._filters[row]

    def find(self, bytes filter not None):
        """Return the row of a filter; -1 if it has none."""
        cdef uint32_t hashed = <uint32_t> PyObject_Hash(filter)
        cdef int64_t at = self._search(self._slots, self._mask, hashed, filter)
        if at >= 0:
            return self._slots[at].row - 1
        if self._former != NULL:
            at = self._search(self._former, self._former_mask, hashed, filter)
            if at >= 0:
                return self._former[at].row - 1
        return -1

    def insert(self, bytes filter not None):
        """Return a row for a filter that has none: a free one, or the next one."""
        cdef uint32_t row
        self._move()
        if 3 * <uint64_t> (self._count + 1) > 2 * (self._mask + 1):
            self._resize(2 * (self._mask + 1))
        if self._free:
            row = self._free - 1
            self._free = <uint32_t> (<uintptr_t> self._filters[row] >> 1)
        else:
            row = self._next_row()
        Py_INCREF(filter)
        self._filters[row] = <PyObject *> filter
        self._count += 1
        self._put(<uint32_t> PyObject_Hash(filter), row + 1)
        return row

    def delete(self, uint32_t row):
        """Free a row that has a filter."""
        cdef bytes filter = self[row]
        cdef uint32_t hashed = <uint32_t> PyObject_Hash(filter)
        cdef int64_t at = self._search(self._slots, self._mask, hashed, filter)
        if at >= 0:
            self._take_out(at)
        else:
            self._former[self._search(self._former, self._former_mask, hashed, filter)].row = MOVED
        Py_DECREF(filter)
        self._filters[row] = <PyObject *> ((<uintptr_t> self._free << 1) | 1)
        self._free = row + 1
        self._count -= 1
        self._move()
        if 8 * <uint64_t> self._count < self._mask and self._mask >= FEWEST_SLOTS and self._former == NULL:
            self._resize((self._mask + 1) // 4 if self._mask > 2 * FEWEST_SLOTS else FEWEST_SLOTS)

    # --- slots

    cdef int64_t _search(self, const Slot *slots, uint64_t mask, uint32_t hashed, bytes filter) except -2:
        """Return the slot of a filter; -1: none."""
        cdef uint64_t at = hashed & mask
        while slots[at].row:
            if slots[at].hash == hashed and slots[at].row != MOVED and filter == <bytes> self._filters[slots[at].row - 1]:
                return <int64_t> at
            at = (at + 1) & mask
        return -1

    cdef void _put(self, uint32_t hashed, uint32_t row) noexcept:
        cdef uint64_t at = hashed & self._mask
        while self._slots[at].row:
            at = (at + 1) & self._mask
        self._slots[at].hash, self._slots[at].row = hashed, row

    cdef void _take_out(self, uint64_t hole) noexcept:
        """Free a slot, and move up the entries that it had displaced."""
        cdef uint64_t at = (hole + 1) & self._mask
        while self._slots[at].row:
            if (at - self._slots[at].hash) & self._mask >= (at - hole) & self._mask:
                self._slots[hole] = self._slots[at]
                hole = at
            at = (at + 1) & self._mask
        self._slots[hole].row = 0

    cdef int _resize(self, uint64_t slots) except -1:
        """Begin to move all entries to a table of another size."""
        cdef Slot *larger
        while self._former != NULL:
            self._move()
        larger = <Slot *> zeroed(slots, sizeof(Slot))
        self._former, self._former_mask, self._next_former = self._slots, self._mask, 0
        self._slots, self._mask = larger, slots - 1
        return 0

    cdef void _move(self) noexcept:
        """Move some entries to the new table."""
        cdef uint64_t end
        cdef Slot *slot
        if self._former == NULL:
            return
        end = min(self._next_former + STEP, self._former_mask + 1)
        self.moved += end - self._next_former
        while self._next_former < end:
            slot = &self._former[self._next_former]
            if slot.row and slot.row != MOVED:
                self._put(slot.hash, slot.row)
                slot.row = MOVED
            self._next_former += 1
        if self._next_former > self._former_mask:
            PyMem_RawFree(self._former)
            self._former = NULL

    # --- rows

    cdef int64_t _next_row(self) except -1:
        cdef uint32_t room
        if self._rows == self._room:
            room = self._room + self._room // 4 + 64
            self._filters, self._room = <PyObject **> resized(self._filters, room * sizeof(PyObject *)), room
        self._rows += 1
        return self._rows - 1

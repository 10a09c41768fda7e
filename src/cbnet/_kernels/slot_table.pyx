"""Holders of the slots of a match table: what a message that matches a slot is for.

    slot   kind      link, id      sources
    0      CLIENT    3, 17                       subscription 17 of the client at link 3
    1      SOURCES                 …0110         the streams of two neighbours
    2      UNKNOWN                               Python is asked when a message matches it

Python is asked once for each slot, and invalidates the answer when the holder changes (`forget`).
"""

from cpython.mem cimport PyMem_RawFree
from libc.string cimport memcpy, memset

from cbnet._kernels.memory cimport resized, zeroed

CLIENT, SOURCES, INITIAL, PYTHON = CLIENT_HOLDER, SOURCES_HOLDER, INITIAL_HOLDER, PYTHON_HOLDER


cdef bint is_set_of_sources(object bits) except -1:
    """Return whether an int has no more bits than a set of sources has here."""
    return bits.bit_length() <= 64 * SOURCE_WORDS


cdef uint64_t *words_of(object bits) except NULL:
    """Return the bits of an int as `SOURCE_WORDS` words."""
    cdef bytes data = bits.to_bytes(8 * SOURCE_WORDS, "little")
    cdef uint64_t *words = <uint64_t *> zeroed(SOURCE_WORDS, sizeof(uint64_t))
    memcpy(words, <const char *> data, 8 * SOURCE_WORDS)
    return words


cdef class SlotTable:
    """The holders of slots, as far as Python was asked."""

    def __init__(self, describe, dict places not None):
        self.describe = describe
        self.places = places

    def __dealloc__(self):
        cdef uint32_t slot
        for slot in range(self.room):
            PyMem_RawFree(self.holders[slot].sources)
        PyMem_RawFree(self.holders)
        PyMem_RawFree(self.held)

    def forget(self, uint32_t slot):
        """Ask for the holder of a slot again."""
        cdef SlotHolder *holder
        if slot < self.room:
            holder = self.holders + slot
            if holder.kind == CLIENT_HOLDER:
                self.held[holder.link] -= 1
            PyMem_RawFree(holder.sources)
            memset(holder, 0, sizeof(SlotHolder))

    cdef int64_t slots_of(self, uint32_t place) noexcept:
        """Return how many slots are known of the client of a link."""
        return self.held[place] if place < self.held_room else 0

    cdef SlotHolder *find(self, uint32_t slot) except NULL:
        """Return the holder of a slot that has one."""
        if slot >= self.room:
            self._make_room(slot)
        if self.holders[slot].kind == UNKNOWN_HOLDER:
            self._fill(slot)
        return self.holders + slot

    cdef int _fill(self, uint32_t slot) except -1:
        cdef SlotHolder *holder = self.holders + slot
        cdef int kind
        kind, link, value = self.describe(slot)
        if kind == CLIENT_HOLDER and link in self.places:
            holder.link = self.places[link]
            holder.id = value
            self._hold(holder.link)
        elif kind == SOURCES_HOLDER and is_set_of_sources(value):
            holder.sources = words_of(value)
        elif kind != INITIAL_HOLDER:
            kind = PYTHON_HOLDER
        holder.kind = kind
        return 0

    cdef int _hold(self, uint32_t place) except -1:
        cdef uint32_t room = 2 * place + 64
        if place >= self.held_room:
            self.held = <int64_t *> resized(self.held, room * sizeof(int64_t))
            memset(self.held + self.held_room, 0, (room - self.held_room) * sizeof(int64_t))
            self.held_room = room
        self.held[place] += 1
        return 0

    cdef int _make_room(self, uint32_t slot) except -1:
        cdef size_t room = <size_t> slot + slot // 2 + 64
        self.holders = <SlotHolder *> resized(self.holders, room * sizeof(SlotHolder))
        memset(self.holders + self.room, 0, (room - self.room) * sizeof(SlotHolder))
        self.room = <uint32_t> room
        return 0

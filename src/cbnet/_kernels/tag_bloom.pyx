"""Bloom filters of tag sets: a set is assumed to be in a message if its bits are set in the message's.

A filter has BITS = 400 bits [2014 §4.2.3], in six words of 64 and one of 16, 50 bytes. The words of all
filters are in columns, since the first word rejects most candidates:

    words     │ first words … │ second words … │ … │   uint64[6 n]
    tails     │ the last 16 bits …                 │   uint16[n]
    owners                                             uint32[n]
    leading   0    3 …                                 uint32[401]: offsets of the filters filed under each bit

A filter is filed under that of its bits which the fewest filters have: if the message lacks the bit, the
filters under it are skipped. The paper describes no index; this one is ours.

The bits of a tag depend only on its text and the number of hashes, not on the table.
"""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from cbnet._kernels.arrays cimport pointer
from cbnet._kernels.byte_strings cimport hash_bytes
from cbnet._kernels.symbol_table cimport Symbols, SymbolTable
from cbnet._kernels.tag_matcher cimport Message, TagMatcher
from cbnet._kernels.tag_sets cimport Owners, append_owner

cdef enum:
    BITS = 400
    WORDS = 6
    SEED = 400

cdef extern from *:
    """
    #define STEP 0x9E3779B97F4A7C15ULL
    #define FIRST_MIX 0xBF58476D1CE4E5B9ULL
    #define SECOND_MIX 0x94D049BB133111EBULL
    """
    const uint64_t STEP
    const uint64_t FIRST_MIX
    const uint64_t SECOND_MIX

cdef struct Bits:
    uint64_t words[WORDS + 1]   # of the last only 16 bits are used


cdef void _add_tag(Bits *bits, const char *text, Py_ssize_t length, uint32_t hashes) noexcept nogil:
    """Set the bits of a tag: one draw per hash, practically independent."""
    cdef uint64_t state = hash_bytes(text, length, SEED)
    cdef uint64_t draw
    cdef uint32_t i, bit
    for i in range(hashes):
        state += STEP
        draw = (state ^ (state >> 30)) * FIRST_MIX
        draw = (draw ^ (draw >> 27)) * SECOND_MIX
        bit = <uint32_t> (((draw >> 32) * BITS) >> 32)
        bits.words[bit >> 6] |= (<uint64_t> 1) << (bit & 63)


cdef void _add_symbol(Bits *bits, const uint8_t *data, uint64_t data_bytes, const uint32_t *offsets, uint32_t tag,
                      uint32_t hashes) noexcept nogil:
    """Set the bits of a tag by its number, unless a damaged file places its text outside the data."""
    if offsets[tag] <= offsets[tag + 1] <= data_bytes:
        _add_tag(bits, <const char *> data + offsets[tag], offsets[tag + 1] - offsets[tag], hashes)


cdef class BloomIndex(TagMatcher):
    """The checked arrays of a Bloom table."""

    cdef const uint64_t *words
    cdef const uint16_t *tails
    cdef const uint32_t *owners_of
    cdef const uint32_t *leading
    cdef uint32_t count
    cdef readonly uint32_t hashes

    def __init__(self, Symbols symbols, dict arrays, uint32_t targets):
        cdef Py_ssize_t count = len(arrays["bloom_owners"])
        self.count = <uint32_t> count
        self.words = <const uint64_t *> pointer(arrays, "bloom_words", 8, WORDS * count)
        self.tails = <const uint16_t *> pointer(arrays, "bloom_tails", 2, count)
        self.owners_of = <const uint32_t *> pointer(arrays, "bloom_owners", 4, count)
        self.leading = <const uint32_t *> pointer(arrays, "bloom_leading", 4, BITS + 1)
        self.hashes = min((<const uint32_t *> pointer(arrays, "bloom_hashes", 4, 1))[0], <uint32_t> BITS)
        TagMatcher.__init__(self, symbols, arrays, targets)

    cdef bint find(self, const Message *message, uint32_t least, Owners *owners) noexcept nogil:
        cdef Bits bits
        cdef uint32_t i
        cdef const SymbolTable *table = &self.symbols.table
        for i in range(WORDS + 1):
            bits.words[i] = 0
        for i in range(message.count):
            _add_symbol(&bits, table.data, table.bytes, table.offsets, message.tags[i], self.hashes)
        for i in range(BITS):
            if (bits.words[i >> 6] >> (i & 63)) & 1 and not self._scan(i, &bits, owners):
                return False
        return True

    cdef bint _scan(self, uint32_t bit, const Bits *bits, Owners *owners) noexcept nogil:
        """Append the owners of the filters under a bit whose bits are all set in the message."""
        cdef uint32_t end = min(self.leading[bit + 1], self.count)
        cdef uint32_t first = min(self.leading[bit], end)
        cdef uint64_t missing = ~bits.words[0]
        cdef const uint64_t *words = self.words
        cdef uint32_t place, word
        owners.touched += end - first
        for place in range(first, end):
            if words[place] & missing:
                continue
            word = 1
            while word < WORDS and not words[<uint64_t> word * self.count + place] & ~bits.words[word]:
                word += 1
            if word == WORDS and not self.tails[place] & ~bits.words[WORDS]:
                if not append_owner(owners, self.owners_of[place]):
                    return False
        return True


def fill_filters(const uint8_t[::1] data, const uint32_t[::1] text_offsets, const uint32_t[::1] tags,
                 const int64_t[::1] offsets, uint32_t hashes, uint64_t[::1] words, uint16_t[::1] tails):
    """Write the filters of all sets, in columns.

    data, text_offsets: the texts of the tags. tags, offsets: the sets. words: uint64[6 n], tails: uint16[n].
    """
    cdef Bits bits
    cdef Py_ssize_t row, count = tails.shape[0]
    cdef int64_t at
    cdef uint32_t word
    cdef const uint8_t *first = &data[0] if data.shape[0] else NULL
    with nogil:
        for row in range(count):
            for word in range(WORDS + 1):
                bits.words[word] = 0
            for at in range(offsets[row], offsets[row + 1]):
                _add_symbol(&bits, first, data.shape[0], &text_offsets[0], tags[at], hashes)
            for word in range(WORDS):
                words[word * count + row] = bits.words[word]
            tails[row] = <uint16_t> bits.words[WORDS]


cdef inline bint _has_bit(const uint64_t[::1] words, const uint16_t[::1] tails, Py_ssize_t row, uint32_t bit) noexcept nogil:
    if bit >> 6 == WORDS:
        return (tails[row] >> (bit & 63)) & 1
    return (words[(bit >> 6) * tails.shape[0] + row] >> (bit & 63)) & 1


def leading_bits(const uint64_t[::1] words, const uint16_t[::1] tails, uint16_t[::1] leading):
    """Write for each filter the bit that the fewest filters have: uint16[n]."""
    cdef uint32_t counts[BITS]
    cdef Py_ssize_t row
    cdef uint32_t bit, best
    with nogil:
        for bit in range(BITS):
            counts[bit] = 0
            for row in range(tails.shape[0]):
                counts[bit] += _has_bit(words, tails, row, bit)
        for row in range(tails.shape[0]):
            best = BITS
            for bit in range(BITS):
                if _has_bit(words, tails, row, bit) and (best == BITS or counts[bit] < counts[best]):
                    best = bit
            leading[row] = <uint16_t> best

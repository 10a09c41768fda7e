"""The pivot index: each filter is filed once, under one of its constraints, its pivot.

A filter is stored according to the test of its pivot.

Buckets, for tests that are looked up (=, ^=, $=, *=, in, null, tags, bools): an open hash table over the
words of pivots (see `matching.storage.codes`), with postings in the order of the slots.

    slots   key      │ word │ FREE │ word │ …    the postings end where those of the next slot begin
            singles  │ 0    │ 3    │ 3    │ …
            entries  │ 0    │ 0    │ 0    │ …

Lists, for tests that hold for a range of values (< <= > >= !=, exists): seven per name, each sorted
by the doubled rank of its bound, so that the tests that hold are a prefix of the list.

    UP    x < c, x <= c   bounds fall, hold while rank <= bound
    DOWN  x > c, x >= c   bounds rise, hold while rank >= bound
    NE    x != c          bounds rise, hold unless rank == bound
    ANY   exists x        always

The sets of `in` that a value is a member of are found first, then their buckets:

    member_keys     │ x, 5 │ x, 7 │ y, "a" │ …   uint64, ascending: symbol << 38 | type << 32 | rank
    member_offsets  0      1      3        4 …   uint32
    member_sets     │ 0    │ 0 4  │ 2      │ …   uint32: sets with this member that are pivots of the symbol

A *single* is a filter of its pivot only: one target, no further test. An *entry* has more:

    mask     uint64   names that it needs, hashed to bits: rejects most candidates; conditions need "#",
                      an attribute that every message has
    tests    uint32   offset of its other words; they end at that of the next entry
    target   uint32   the interface; with the highest bit set, a group of interfaces that share it

Blocks, for ranges: see `block_view.pxd`. Their postings are entries only.

Before its entry is read, a candidate is screened by its *mark*, a byte beside it: the hash of its least likely
equality, or else of a name that it needs. A message has the marks of its names and values. The entries of a bucket are
in the order of their marks, so that few cache lines are read of a large bucket.

    marks    │ 7 7 7 31 40 40 200 │ 7 91 │ …    uint8, one per entry

Invariant: the postings of a slot or list lie between its offset and the next; every index read from
an array is checked against the length of the array that it refers to, so a damaged file can give wrong
answers but no read outside it.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from cbnet._kernels.block_view cimport Blocks
from cbnet._kernels.byte_strings cimport MIX
from cbnet._kernels.symbol_table cimport Symbols
from cbnet._kernels.tag_sets cimport Groups
from cbnet._kernels.test_codes cimport BOOL_EQ, NUMBER_EQ, STRING_EQ
from cbnet._kernels.text_patterns cimport Patterns
from cbnet._kernels.word_test cimport Constants

cdef enum List:
    ANY, NUMBER_UP, NUMBER_DOWN, NUMBER_UNEQUAL, STRING_UP, STRING_DOWN, STRING_UNEQUAL, LISTS

cdef extern from *:
    """
    #define FREE 0xFFFFFFFFFFFFFFFFULL
    #define NAME_OF_WORD 0xFFFFFFC000000000ULL
    """
    const uint64_t FREE
    const uint64_t NAME_OF_WORD

cdef struct Entry:
    uint64_t mask
    uint32_t tests
    uint32_t target

cdef struct Slot:
    uint64_t key
    uint32_t singles
    uint32_t entries

cdef struct Postings:
    const uint32_t *targets     # of singles
    uint32_t target_count
    const Entry *entries        # and one more, which ends the tests of the last
    const uint8_t *marks
    uint32_t entry_count

cdef struct View:
    Constants constants
    Patterns patterns
    const uint32_t *tested      # per symbol: bit t is set if some constraint has test t
    const uint32_t *pivoted     # per symbol: the same for pivots
    uint32_t symbols
    uint32_t names
    uint32_t message_symbol     # of "#"; or the number of symbols
    const uint64_t *member_keys
    const uint32_t *member_offsets
    const uint32_t *member_sets
    uint32_t member_count
    uint32_t member_total
    const Slot *slots           # and one more, which ends the postings of the last
    uint64_t slot_count         # a power of two
    Postings bucket
    const uint32_t *list_singles
    const uint32_t *list_entries
    const uint32_t *single_bounds
    const uint32_t *entry_bounds
    Postings listed
    Blocks blocks
    Postings blocked            # entries only
    const uint64_t *words       # the tests of all entries, bucket, listed and blocked
    uint32_t word_count
    const uint32_t *always
    uint32_t always_count
    Groups groups
    uint64_t bytes              # of the arrays that most lookups read
    const uint8_t *removed      # bits: bucket singles, bucket entries, listed singles, listed entries, blocked entries, always; or NULL

cdef int open_view(View *view, Symbols symbols, dict arrays) except -1
cdef void close_view(View *view) noexcept
cdef Py_ssize_t encode_tests(const View *view, Symbols symbols, frozenset tests, uint64_t *words) except -2
cdef int64_t find_filter(const View *view, const uint64_t *words, Py_ssize_t count, uint32_t target) noexcept nogil

cdef inline uint64_t mask_bit(uint32_t symbol) noexcept nogil:
    """Return the bit of a symbol; the commonest 64, which have the lowest numbers, have one each."""
    return (<uint64_t> 1) << (symbol & 63)

cdef inline bint is_equality(uint64_t word) noexcept nogil:
    """Return whether a word compares with one value of one type."""
    return (1 << BOOL_EQ | 1 << NUMBER_EQ | 1 << STRING_EQ) >> ((word >> 32) & 63) & 1

cdef inline uint8_t mark_of(uint64_t word) noexcept nogil:
    """Return the mark of a word."""
    return <uint8_t> ((word * MIX) >> 56)

cdef inline uint64_t first_blocked(const View *view) noexcept nogil:
    """Return the number of the first blocked posting: those of buckets and lists come before."""
    return (<uint64_t> view.bucket.target_count + view.bucket.entry_count + view.listed.target_count
            + view.listed.entry_count)

cdef inline bint is_removed(const View *view, uint64_t posting) noexcept nogil:
    return (view.removed[posting >> 3] >> (posting & 7)) & 1

cdef inline uint32_t boundary(const uint32_t *bounds, uint32_t first, uint32_t end, uint32_t place, bint is_up) noexcept nogil:
    """Return the end of the bounds that hold, which come first."""
    cdef uint32_t count = end - first
    cdef uint32_t half
    while count > 0:
        half = count >> 1
        if (bounds[first + half] >= place) if is_up else (bounds[first + half] <= place):
            first += half + 1
            count -= half + 1
        else:
            count = half
    return first

cdef uint64_t listed_word(uint64_t number, uint32_t bound) noexcept nogil

"""Bindings: one value for each attribute of a filter that satisfy it together, as in `language.filter`.

    candidates  │ 4 9 │ 2 │ 5 6 7 │ …     uint32: indices of attributes of the message that pass all words of a symbol
    variables   │ a   │ b │ c     │ …     first and count of its candidates; which one is bound

Bound values must be compatible: not in different elements of one array. While conditions are tested,
`leaves.slots` refer to the bound values.
"""

from libc.stdint cimport uint32_t, uint64_t

from cbnet._kernels.word_test cimport Constants, Leaves

cdef struct Variable:
    uint32_t symbol
    uint32_t slot           # of the symbol, before the search
    uint32_t first          # of its candidates
    uint32_t count
    uint32_t bound          # index of its bound candidate

cdef struct BindingSearch:
    Variable *variables
    uint32_t variable_count, variable_room
    uint32_t *candidates
    uint32_t candidate_count, candidate_room
    bint is_out_of_memory   # an answer was False because of it

cdef void open_search(BindingSearch *search) noexcept nogil
cdef void close_search(BindingSearch *search) noexcept nogil
cdef bint condition_passes(const Constants *constants, Leaves *leaves, uint32_t number) noexcept nogil
cdef bint binding_exists(const Constants *constants, Leaves *leaves, BindingSearch *search, const uint64_t *pivot,
                         const uint64_t *words, uint32_t count) noexcept nogil
cdef bint has_several_values(Leaves *leaves, uint32_t count) noexcept nogil
cdef void enter_leaves(const Constants *constants, Leaves *leaves, uint32_t count) noexcept nogil

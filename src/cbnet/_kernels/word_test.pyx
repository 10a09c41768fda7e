"""The constants that words refer to; `word_test.pxd` draws them."""

from libc.stdint cimport uint32_t, uint64_t

from cbnet._kernels.arrays cimport pointer
from cbnet._kernels.constant_pool cimport close_numbers, close_pool, open_directory, open_numbers, open_slots, open_texts


cdef int open_constants(Constants *constants, dict arrays) except -1:
    """Set pointers to the constants of a table; raise ValueError if the arrays do not fit together."""
    open_numbers(&constants.numbers, arrays)
    open_texts(&constants.strings.texts, arrays, "string")
    constants.strings.count = constants.strings.texts.count
    constants.strings.is_reversed = False
    constants.strings.ids = constants.strings.parents = NULL
    constants.strings.keys = <const uint64_t *> pointer(arrays, "string_keys", 8, constants.strings.count)
    open_directory(&constants.strings)
    open_slots(&constants.strings)
    constants.set_offsets = <const uint32_t *> pointer(arrays, "value_set_offsets", 4, 1)
    constants.set_count = <uint32_t> (len(arrays["value_set_offsets"]) - 1)
    constants.set_members = <const uint64_t *> pointer(arrays, "value_set_members", 8, 0)
    constants.set_total = <uint32_t> len(arrays["value_set_members"])
    open_texts(&constants.conditions, arrays, "condition")
    return 0


cdef void close_constants(Constants *constants) noexcept:
    close_numbers(&constants.numbers)
    close_pool(&constants.strings)

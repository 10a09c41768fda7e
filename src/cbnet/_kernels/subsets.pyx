"""Which sets contain a given set, when sets are 64-bit masks?

    masks   0b0011  0b0111  0b1010  …     one word per set
    wide    0b0011
    answer       0       1               the positions whose mask has every bit of `wide`

A mask may stand for a larger set (several elements share a bit): then the answer is a superset
of the true one, never a smaller one.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t


def supersets(uint64_t wide, const uint64_t[::1] masks, const uint8_t[::1] alive, uint32_t[::1] out):
    """Write to `out` the positions of living masks that contain `wide`; return how many.

    masks: uint64[n], alive: uint8[n] (0 is dead), out: uint32[n].
    """
    cdef Py_ssize_t position
    cdef Py_ssize_t found = 0
    with nogil:
        for position in range(masks.shape[0]):
            # Written without a branch: whether a mask fits is close to random, and a
            # mispredicted branch costs more than the store that it would save.
            out[found] = <uint32_t> position
            found += alive[position] & ((wide & ~masks[position]) == 0)
    return found

"""Rows of words: sorting each row and dropping repeated words.

    words    7 3 7 │ 5 │ 9 2           offsets 0 3 4 6
    becomes  3 7   │ 5 │ 2 9           offsets 0 2 3 5
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport qsort

from cbnet._kernels.arrays cimport compare_words

ctypedef fused Word:
    uint32_t
    uint64_t


cdef int _compare_short(const void *left, const void *right) noexcept nogil:
    cdef uint32_t a = (<const uint32_t *> left)[0]
    cdef uint32_t b = (<const uint32_t *> right)[0]
    return (a > b) - (a < b)


cdef inline void _sort(Word *words, Py_ssize_t count) noexcept nogil:
    cdef Py_ssize_t i, j
    cdef Word word
    if count > 16:
        qsort(words, count, sizeof(Word), compare_words if Word is uint64_t else _compare_short)
        return
    for i in range(1, count):
        word = words[i]
        j = i
        while j > 0 and words[j - 1] > word:
            words[j] = words[j - 1]
            j -= 1
        words[j] = word


def sort_rows(Word[::1] words, int64_t[::1] offsets):
    """Sort each row and drop its repeated words, in place; return the number of words left.

    words: uint32[c] or uint64[c], offsets: int64[n+1], both rewritten.
    """
    cdef Py_ssize_t row, i, start, end
    cdef Py_ssize_t kept = 0
    with nogil:
        start = offsets[0]
        for row in range(offsets.shape[0] - 1):
            end = offsets[row + 1]
            _sort(&words[0] + start, end - start)
            offsets[row] = kept
            for i in range(start, end):
                if i == start or words[i] != words[i - 1]:
                    # words[i - 1] is read before it is overwritten: kept <= i
                    words[kept] = words[i]
                    kept += 1
            start = end
        offsets[offsets.shape[0] - 1] = kept
    return kept

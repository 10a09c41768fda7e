"""Target sets: bitmaps whose members are listed in order, in time proportional to their number.

    bits     …0100 0000…  one bit per target: 1 million targets are 125 kB, inside the cache
    summary  …0001…       one bit per word of bits that is not 0

Adding sets two bits; listing walks the summary, then the words that it marks, and clears both. So the
targets are sorted and without repetitions, although an interface has many filters.
"""

from cpython.list cimport PyList_GET_SIZE, PyList_New, PyList_SET_ITEM
from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree, PyMem_RawRealloc
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF

from cbnet._kernels.intrinsics cimport trailing_zeros

cdef extern from "Python.h":
    PyObject *PyList_GET_ITEM(object items, Py_ssize_t index)  # borrowed

cdef enum:
    GROUP = 4096  # targets per word of the summary
    FEW = 4096  # with more targets than this a message does not match all, and looking would cost


cdef int open_targets(TargetSet *targets, uint32_t total) except -1:
    targets.total = total
    targets.bits = <uint64_t *> PyMem_RawCalloc((<size_t> total >> 6) + 1, sizeof(uint64_t))
    targets.summary = <uint64_t *> PyMem_RawCalloc((<size_t> total >> 12) + 1, sizeof(uint64_t))
    if targets.bits == NULL or targets.summary == NULL:
        raise MemoryError
    return 0


cdef void close_targets(TargetSet *targets) noexcept nogil:
    PyMem_RawFree(targets.bits)
    PyMem_RawFree(targets.summary)


cdef bint is_full(const TargetSet *targets) noexcept nogil:
    """Return whether all targets are members; False is always safe."""
    cdef uint32_t place
    if targets.total > FEW:
        return False
    for place in range(targets.total >> 6):
        if ~targets.bits[place]:
            return False
    return targets.bits[targets.total >> 6] == ((<uint64_t> 1) << (targets.total & 63)) - 1


cdef int take_targets(TargetSet *targets, Found *found) noexcept nogil:
    """Append the members to `found`, in order, and empty the set; return 0 if out of memory."""
    cdef uint64_t outer, word
    cdef size_t place, group
    cdef uint32_t *out
    for group in range((<size_t> targets.total >> 12) + 1):
        outer = targets.summary[group]
        if outer == 0:
            continue
        targets.summary[group] = 0
        if not _make_room(found, min(<int64_t> GROUP, <int64_t> targets.total)):
            return 0
        out = found.targets + found.used
        while outer:
            place = (group << 6) | trailing_zeros(outer)
            outer &= outer - 1
            word = targets.bits[place]
            targets.bits[place] = 0
            while word:
                out[0] = <uint32_t> ((place << 6) | trailing_zeros(word))
                out += 1
                word &= word - 1
        found.used = out - found.targets
    return 1


cdef int _make_room(Found *found, int64_t more) noexcept nogil:
    cdef void *larger
    if found.used + more > found.room:
        found.room = 2 * found.room + more
        larger = PyMem_RawRealloc(found.targets, found.room * sizeof(uint32_t))
        if larger == NULL:
            return 0
        found.targets = <uint32_t *> larger
    return 1


cdef list labels_of(const uint32_t *targets, Py_ssize_t count, list labels):
    """Return the labels of ascending targets; those without one are left out."""
    cdef Py_ssize_t known = PyList_GET_SIZE(labels)
    cdef Py_ssize_t at
    cdef PyObject *label
    while count > 0 and targets[count - 1] >= known:
        count -= 1
    cdef list found = PyList_New(count)
    for at in range(count):
        label = PyList_GET_ITEM(labels, targets[at])
        Py_INCREF(<object> label)
        PyList_SET_ITEM(found, at, <object> label)
    return found


def labelled(const uint32_t[::1] targets, Py_ssize_t count, list labels):
    """Return the labels of the first `count` targets."""
    return labels_of(&targets[0], count, labels) if count else []


def label_lists(const int64_t[::1] offsets, const uint32_t[::1] targets, list labels):
    """Return the labels of each message: its targets are targets[offsets[i]:offsets[i + 1]]."""
    cdef Py_ssize_t count = offsets.shape[0] - 1
    cdef const uint32_t *first = &targets[0] if targets.shape[0] else NULL
    cdef Py_ssize_t row
    cdef list lists = [None] * count
    for row in range(count):
        lists[row] = labels_of(first + offsets[row], offsets[row + 1] - offsets[row], labels)
    return lists

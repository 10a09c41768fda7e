"""Tag matchers: from messages to the targets of the sets of tags found in them; `TagIndex` searches the exact tag table.

    tags of a message ─┬─► mask of the common ones ─► union ─────────────────────┐
                       └─► find(): owners of sets ─► targets, sorted by a bitmap ┴─► merged

A batch is matched in two passes. The first finds the owners of all messages, which bounds the number of
targets; then the result array is allocated, and the second pass fills it.
"""

from cpython.mem cimport PyMem_RawFree
from libc.string cimport memcpy

import numpy

from cbnet._kernels.arrays cimport empty, pointer
from cbnet._kernels.memory cimport resized, zeroed
from cbnet._kernels.message_encoding cimport TAG, Batch
from cbnet._kernels.tag_sets cimport (
    Sets, add_owned, clear_tag, find_subsets, has_tag, open_groups, open_sets, owned_by, set_tag,
)
from cbnet._kernels.target_set cimport add_target, close_targets, labels_of, open_targets, take_targets


cdef enum:
    STEP = 4        # targets compared at once
    PER_PLACE = 1   # targets from one place to the next, on average


cdef class Unions:
    """The lists of a table, each checked when it is first used."""

    def __cinit__(self):
        self.lists = NULL
        self.tags = 0

    def __init__(self, dict arrays, uint32_t total):
        cdef Py_ssize_t lists = len(arrays["union_offsets"]) - 1
        while (<Py_ssize_t> 1 << self.tags) < lists:
            self.tags += 1
        if lists < 1 or lists & (lists - 1):
            raise ValueError("the section union_offsets does not fit the others")
        self.offsets = <const uint32_t *> pointer(arrays, "union_offsets", 4, 2)
        self.targets = <const uint32_t *> pointer(arrays, "union_targets", 4, 0)
        self.target_count = <uint32_t> len(arrays["union_targets"])
        self.total = total
        self.lists = <Union *> zeroed(lists, sizeof(Union))

    def __dealloc__(self):
        cdef uint32_t mask
        if self.lists != NULL:
            for mask in range(<uint32_t> 1 << self.tags):
                PyMem_RawFree(self.lists[mask].places)
        PyMem_RawFree(self.lists)

    cdef const Union *prepared(self, uint32_t mask) except NULL:
        """Return the list of a mask, with its places; an empty one if the file is damaged."""
        cdef Union *list = &self.lists[mask]
        if list.places == NULL:
            self._check(mask)
            self._make_places(list)
        return list

    cdef int _check(self, uint32_t mask) except -1:
        """Set a pointer to a list if it lies inside the file, ascends, and has known targets only."""
        cdef Union *list = &self.lists[mask]
        cdef uint32_t first = self.offsets[mask], end = self.offsets[mask + 1]
        cdef uint32_t at
        list.targets = self.targets
        list.count = 0
        if end > self.target_count or end < PAD or first > end - PAD:
            return 0
        end -= PAD
        if end > first and self.targets[end - 1] >= self.total:
            return 0
        for at in range(first + 1, end):
            if self.targets[at] <= self.targets[at - 1]:
                return 0
        list.targets = self.targets + first
        list.count = end - first
        return 0

    cdef int _make_places(self, Union *list) except -1:
        cdef uint32_t place, places
        cdef uint32_t at = 0
        list.shift = 0
        while self.total >> list.shift > list.count // PER_PLACE:
            list.shift += 1
        places = (self.total >> list.shift) + 1
        list.places = <uint32_t *> zeroed(places, sizeof(uint32_t))
        for place in range(places):
            while at < list.count and list.targets[at] >> list.shift < place:
                at += 1
            list.places[place] = at
        return 0


cdef inline uint32_t _rank(const Union *wide, uint32_t target) noexcept nogil:
    """Return how many of the list's targets lie below a target, which is below the total."""
    cdef uint32_t rank = wide.places[target >> wide.shift]
    cdef const int *targets
    cdef int below = STEP
    cdef int i
    while below == STEP and rank < wide.count:
        targets = <const int *> wide.targets + rank
        below = 0
        for i in range(STEP):  # no branch: the position of the target among these is practically random
            below += targets[i] < <int> target
        rank += below
    return min(rank, wide.count)


cdef uint32_t _merged(const Union *wide, const uint32_t *few, uint32_t count, uint32_t *out) noexcept nogil:
    """Write the targets of a list and `few` others, sorted; return how many there are.

    out: room for all of them and PAD more. few: sorted, without repetitions.
    """
    cdef uint32_t i, rank
    cdef uint32_t done = 0
    cdef uint32_t *start = out
    for i in range(count):
        rank = _rank(wide, few[i])
        # PAD targets at a time, although mostly fewer are needed: the surplus is overwritten
        memcpy(out, wide.targets + done, PAD * sizeof(uint32_t))
        if rank - done > PAD:
            memcpy(out, wide.targets + done, (rank - done) * sizeof(uint32_t))
        out += rank - done
        done = rank
        out[0] = few[i]
        out += rank == wide.count or wide.targets[rank] != few[i]
    memcpy(out, wide.targets + done, (wide.count - done) * sizeof(uint32_t))
    return <uint32_t> (out - start) + wide.count - done


cdef enum:
    SLACK = 4096    # that `take_targets` needs at a time
    LONG = 256      # a shorter union is treated like all other targets


cdef class TagMatcher:
    """Matches messages by their tags; subclasses find the sets."""

    def __cinit__(self):
        self.owners.items = NULL
        self.owners.used = self.owners.room = self.owners.touched = 0
        self.owners.most = (<int64_t> 1) << 62
        self.found.targets = NULL
        self.found.used = self.found.room = 0

    def __init__(self, Symbols symbols, dict arrays, uint32_t targets):
        self.symbols = symbols
        self.targets = targets
        self.kept = arrays
        self.encoder = DictEncoder(symbols)
        open_groups(&self.groups, arrays)
        self.unions = Unions(arrays, targets)
        _open_state(&self.own, symbols.count, targets)

    def __dealloc__(self):
        _close_state(&self.own)
        PyMem_RawFree(self.owners.items)
        PyMem_RawFree(self.found.targets)

    cdef bint find(self, const Message *message, uint32_t least, Owners *owners) noexcept nogil:
        """Append the owners of the sets all of whose tags the message has; return False if out of memory.

        Sets that have only tags below `least` are left out: they are in the union.
        """
        return True

    cdef bint _find(self, State *state, const Attribute *attributes, uint32_t count, uint32_t least,
                    Owners *owners) noexcept nogil:
        """Read the tags of a message, for which there is room, and find its sets; False if out of memory."""
        cdef Message *message = &state.message
        cdef uint32_t i, tag
        cdef bint ok
        message.count = 0
        message.mask = 0
        for i in range(count):
            tag = attributes[i].symbol
            if attributes[i].kind == TAG and tag < self.symbols.count and not has_tag(message.present, tag):
                set_tag(message.present, tag)
                message.tags[message.count] = tag
                message.count += 1
                if tag < self.unions.tags:
                    message.mask |= <uint32_t> 1 << tag
        ok = self.find(message, least, owners)
        for i in range(message.count):
            clear_tag(message.present, message.tags[i])
        return ok

    cdef uint64_t _bound(self, const uint32_t *owners, int64_t count, const Union *union) noexcept nogil:
        """Return an upper bound of the number of targets of a message."""
        cdef uint64_t bound = union.count
        cdef uint32_t owned
        cdef int64_t i
        for i in range(count):
            owned_by(&self.groups, owners + i, &owned)
            bound += owned
        return min(bound, <uint64_t> self.targets)

    cdef bint _deliver(self, State *state, const uint32_t *owners, int64_t count, const Union *union,
                       Found *found) noexcept nogil:
        """Append the targets of a message to `found`, which has room for them and SLACK more."""
        cdef int64_t i
        cdef bint apart = union.count >= LONG and 2 * union.count > self._bound(owners, count, union)
        if not apart:
            for i in range(union.count):
                add_target(&state.targets, union.targets[i])
        for i in range(count):
            add_owned(&self.groups, owners[i], &state.targets)
        if not apart:
            return take_targets(&state.targets, found)
        state.few.used = 0
        if not take_targets(&state.targets, &state.few):
            return False
        found.used += _merged(union, state.few.targets, <uint32_t> state.few.used, found.targets + found.used)
        return True

    def match_members(self, message, list labels):
        """Match one message, in its JSON form or as its leaves and tags; return the labels of its targets, in order.

        None if the message is not plain and valid. The GIL is held throughout, so threads may call this at
        once.
        """
        cdef const Union *union
        cdef Found found
        cdef int64_t bound
        cdef Batch batch = self.encoder.batch
        if not self.encoder.encode_alone(message):
            return None
        _reserve(&self.own.message, batch.used)
        self.owners.used = 0
        if not self._find(&self.own, batch.attributes, <uint32_t> batch.used, self.unions.tags, &self.owners):
            raise MemoryError
        union = self.unions.prepared(self.own.message.mask)
        bound = <int64_t> self._bound(self.owners.items, self.owners.used, union) + SLACK
        if self.found.room < bound:
            self.found.targets = <uint32_t *> resized(self.found.targets, bound * sizeof(uint32_t))
            self.found.room = bound
        self.found.used = 0
        if not self._deliver(&self.own, self.owners.items, self.owners.used, union, &self.found):
            raise MemoryError
        # Creating a list may run other code, which may match here: the targets are moved aside first.
        found = self.found
        self.found.targets = NULL
        self.found.used = self.found.room = 0
        answer = labels_of(found.targets, found.used, labels)
        PyMem_RawFree(self.found.targets)
        self.found = found
        return answer

    def match_batch(self, Batch batch, Py_ssize_t first, Py_ssize_t end):
        """Match messages `first` to `end`; return offsets, targets and the number of entries read.

        Runs without the GIL except to create the arrays: several threads may match at once.
        """
        cdef Search search = Search(self, batch, first, end)
        search.find(self.unions.tags)
        return search.deliver()

    def count_descriptors(self, Batch batch):
        """Return the number of distinct sets, none empty, in each message: int64[messages]."""
        cdef Search search = Search(self, batch, 0, len(batch))
        search.find(0)
        return numpy.diff(search.ends)


cdef class Search:
    """The matching of one batch: first owners, then targets."""

    cdef TagMatcher matcher
    cdef Batch batch
    cdef Py_ssize_t first, rows
    cdef State state
    cdef Owners owners
    cdef object masks, ends

    def __cinit__(self, TagMatcher matcher, Batch batch, Py_ssize_t first, Py_ssize_t end):
        cdef Py_ssize_t row, widest = 0
        self.owners.items = NULL
        self.owners.used = self.owners.room = self.owners.touched = 0
        self.owners.most = (<int64_t> 1) << 62
        self.matcher = matcher
        self.batch = batch
        self.first = first
        self.rows = end - first
        self.masks = empty("I", self.rows)
        self.ends = empty("q", self.rows + 1)
        _open_state(&self.state, matcher.symbols.count, matcher.targets)
        for row in range(first, end):
            widest = max(widest, batch.offsets[row + 1] - batch.offsets[row])
        _reserve(&self.state.message, widest)

    def __dealloc__(self):
        _close_state(&self.state)
        PyMem_RawFree(self.owners.items)

    cdef int find(self, uint32_t least) except -1:
        """Find the owners of all messages."""
        cdef uint32_t[::1] masks = self.masks
        cdef int64_t[::1] ends = self.ends
        cdef const int64_t *offsets = self.batch.offsets + self.first
        cdef Py_ssize_t row
        cdef bint ok = True
        with nogil:
            ends[0] = 0
            for row in range(self.rows):
                ok = self.matcher._find(&self.state, self.batch.attributes + offsets[row],
                                        <uint32_t> (offsets[row + 1] - offsets[row]), least, &self.owners)
                if not ok:
                    break
                masks[row] = self.state.message.mask
                ends[row + 1] = self.owners.used
        if not ok:
            raise MemoryError
        return 0

    cdef int64_t _bound(self) except -1:
        """Return an upper bound of the number of targets of all messages; prepare their unions."""
        cdef uint32_t[::1] masks = self.masks
        cdef int64_t[::1] ends = self.ends
        cdef int64_t bound = 0
        cdef Py_ssize_t row
        for row in range(self.rows):
            bound += self.matcher._bound(self.owners.items + ends[row], ends[row + 1] - ends[row],
                                         self.matcher.unions.prepared(masks[row]))
        return bound

    cdef object deliver(self):
        """Return offsets, targets and the number of entries read."""
        cdef uint32_t[::1] masks = self.masks
        cdef int64_t[::1] ends = self.ends
        cdef const Union *unions = self.matcher.unions.lists
        cdef int64_t bound = self._bound()
        cdef Found found
        cdef Py_ssize_t row
        cdef bint ok = True
        offsets = empty("q", self.rows + 1)
        targets = empty("I", bound + SLACK)
        cdef int64_t[::1] out_ends = offsets
        cdef uint32_t[::1] out = targets
        found.targets = &out[0]
        found.used = 0
        found.room = bound + SLACK
        with nogil:
            out_ends[0] = 0
            for row in range(self.rows):
                ok = self.matcher._deliver(&self.state, self.owners.items + ends[row], ends[row + 1] - ends[row],
                                           unions + masks[row], &found)
                if not ok:
                    break
                out_ends[row + 1] = found.used
        if not ok:
            raise MemoryError
        targets = targets[:found.used]
        return offsets, targets if 2 * found.used > bound else targets.copy(), self.owners.touched


cdef int _open_state(State *state, uint32_t tags, uint32_t targets) except -1:
    state.message.tags = NULL
    state.message.room = 0
    state.few.targets = NULL
    state.few.used = state.few.room = 0
    state.message.present = <uint64_t *> zeroed((<size_t> tags >> 6) + 1, sizeof(uint64_t))
    return open_targets(&state.targets, targets)


cdef void _close_state(State *state) noexcept:
    close_targets(&state.targets)
    PyMem_RawFree(state.message.present)
    PyMem_RawFree(state.message.tags)
    PyMem_RawFree(state.few.targets)


cdef int _reserve(Message *message, Py_ssize_t count) except -1:
    """Reserve memory for the tags of a message."""
    if <Py_ssize_t> message.room < count:
        message.tags = <uint32_t *> resized(message.tags, (count + 16) * sizeof(uint32_t))
        message.room = <uint32_t> count + 16
    return 0


cdef class TagIndex(TagMatcher):
    """The checked arrays of an exact tag table."""

    cdef Sets sets

    def __init__(self, Symbols symbols, dict arrays, uint32_t targets):
        open_sets(&self.sets, arrays, symbols.count)
        TagMatcher.__init__(self, symbols, arrays, targets)

    cdef bint find(self, const Message *message, uint32_t least, Owners *owners) noexcept nogil:
        return find_subsets(&self.sets, message.present, message.tags, message.count, least, owners)

"""The pivot index as Python objects: a whole index, one with removed postings, several together.

`pivot_match.pxd` describes the matching of one message; `pivot_view.pxd` draws the arrays.
"""

from cpython.mem cimport PyMem_RawFree
from cpython.object cimport PyObject
from libc.stdint cimport INT64_MAX, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from cbnet._kernels.arrays cimport empty, owned
from cbnet._kernels.binding_search cimport FREE_STEPS, MAX_EXAMINED, reserve_leaves, take_undecided
from cbnet._kernels.dict_encoding cimport DictEncoder
from cbnet._kernels.frame_message cimport FrameMessage, ReadAttribute
from cbnet._kernels.memory cimport resized, zeroed
from cbnet._kernels.message_encoding cimport TAG, Attribute, Batch
from cbnet._kernels.pivot_match cimport (
    MESSAGES_AT_ONCE, State, abandon, begin_matching, close_state, enter_messages, finish_matching, open_state, set_message,
    set_single,
)
from cbnet._kernels.pivot_view cimport *
from cbnet._kernels.pivot_memtable cimport MemtableIndex, read_members
from cbnet._kernels.symbol_table cimport Symbols, find_hashed
from cbnet._kernels.target_set cimport Found, TargetSet, close_targets, labels_of, open_targets, take_targets

from cbnet.errors import UndecidedError

cdef enum:
    ALLOWANCE = 10000  # candidates of large searches for one message that need no credit: they take about a millisecond
    FEW_TESTS = 64
    # A batch is matched against a smaller table one message at a time. The limit lies between two tables that were
    # measured: with 10,000 filters of the mix of [2002] (729 kB) this took about 9 % less time than eight at a time, with
    # 17,576 filters of an airport and an airline (946 kB) about 25 % more. Other mixes may differ.
    CACHED_BYTES = 800_000
    MESSAGES_IN_GROUP = 100
    GROUP_BYTES = 1 << 20


cdef class PivotIndex:
    """The checked arrays of a pivot index, and working memory."""

    def __init__(self, Symbols symbols, dict arrays, uint32_t targets):
        self.symbols = symbols
        self.targets = targets
        self.kept = arrays
        self.encoder = DictEncoder(symbols)
        cdef int i
        open_view(&self.view, symbols, arrays)
        open_targets(&self.own_targets, targets)
        open_state(&self.own, &self.view, symbols, &self.own_targets)
        for i in range(MESSAGES_AT_ONCE):
            open_state(self.states + i, &self.view, symbols, &self.own_targets)

    def __dealloc__(self):
        cdef int i
        close_state(&self.own)
        for i in range(MESSAGES_AT_ONCE):
            close_state(self.states + i)
        close_targets(&self.own_targets)
        close_view(&self.view)
        PyMem_RawFree(self.found.targets)
        PyMem_RawFree(self.leaves)

    def match_members(self, message, list labels):
        """Match one message, in its JSON form or as its leaves and tags; return the labels of its targets, in order.

        None if the message is not plain and valid. The GIL is held throughout, so threads may call this at
        once. Raises UndecidedError if a search was given up.
        """
        if not self._add_targets(message, &self.own_targets, NULL):
            return None
        undecided = take_undecided(&self.own.search, &self.own_targets) if self.own.search.undecided_count else None
        return _decided(self._labelled(labels), undecided, labels)

    cdef bint _add_targets(self, object message, TargetSet *targets, const uint8_t *removed) except -1:
        """Add the targets of a message to a set; return False if it is not plain and valid."""
        if not self.encoder.encode_alone(message):
            return False
        if not reserve_leaves(&self.own.leaves, &self.own.leaf_room, self.encoder.batch.used):
            raise MemoryError
        set_message(&self.own, self.encoder.batch, 0)
        self._begin(&self.own, 1, targets, removed)
        self._finish(&self.own, removed)
        return True

    cdef bint reads(self, const FrameMessage *messages, uint32_t count) except -1:
        """Return whether no computed attribute depends on these messages; else Python must read them."""
        cdef const ReadAttribute *attribute
        cdef uint32_t i, n
        if not self.symbols.uses_arrays():
            return True
        for i in range(count):
            for n in range(messages[i].count):
                attribute = messages[i].attributes + n
                if attribute.value.kind != TAG and self.symbols.is_root(attribute.name, attribute.name_length):
                    return False
        return True

    cdef int begin(self, const FrameMessage *messages, uint32_t count, TargetSet *targets, const uint8_t *removed) except -1:
        """Look up some messages of frames, at most MESSAGES_AT_ONCE."""
        cdef const ReadAttribute *attribute
        cdef Attribute *leaf
        cdef int64_t symbol
        cdef uint32_t i, n
        cdef uint32_t total = 0
        for i in range(MESSAGES_AT_ONCE):
            abandon(self.states + i)
        for i in range(count):
            total += messages[i].count
        if total > self.leaf_room:
            self.leaves = <Attribute *> resized(self.leaves, total * sizeof(Attribute))
            self.leaf_room = total
        leaf = self.leaves
        for i in range(count):
            if not reserve_leaves(&self.states[i].leaves, &self.states[i].leaf_room, messages[i].count):
                raise MemoryError
            set_single(self.states + i, leaf, 0)
            self.states[i].search.work = FREE_STEPS
            self.states[i].search.undecided_count = 0
            for n in range(messages[i].count):
                attribute = messages[i].attributes + n
                symbol = find_hashed(&self.symbols.table, attribute.name, attribute.name_length,
                                     attribute.value.kind == TAG, attribute.hash)
                if symbol >= 0:
                    leaf[0] = attribute.value
                    leaf.symbol = <uint32_t> symbol
                    leaf += 1
            self.states[i].count = <uint32_t> (leaf - self.states[i].leaves.attributes)
        self._begin(self.states, count, targets, removed)
        return 0

    cdef int finish(self, uint32_t number, const uint8_t *removed) except -1:
        """Add the targets of one of the messages that were looked up; the others may be finished later, or never.

        Return 0 if some are undecided: Python must match the message.
        """
        self._finish(self.states + number, removed)
        return self.states[number].search.undecided_count == 0

    cdef void _begin(self, State *states, uint32_t count, TargetSet *targets, const uint8_t *removed) noexcept:
        cdef uint32_t i
        for i in range(count):
            states[i].targets = targets
        self.view.removed = removed
        enter_messages(&self.view, states, count)
        begin_matching(&self.view, states, count)

    cdef int _finish(self, State *state, const uint8_t *removed) except -1:
        self.view.removed = removed
        finish_matching(&self.view, state)
        if state.search.is_out_of_memory:
            state.search.is_out_of_memory = False
            raise MemoryError
        return 0

    cdef bint is_empty(self) noexcept:
        """Return whether there is no filter."""
        return not (self.view.bucket.target_count or self.view.bucket.entry_count or self.view.listed.target_count
                    or self.view.listed.entry_count or self.view.blocked.entry_count or self.view.always_count)

    cdef list _labelled(self, list labels):
        """Return the labels of the collected targets, and clear them.

        Creating a list may run other code, which may match here: the targets are moved aside first.
        """
        cdef Found found = self.found
        found.used = 0
        self.found.targets = NULL
        self.found.room = 0
        if not take_targets(&self.own_targets, &found):
            raise MemoryError
        answer = labels_of(found.targets, found.used, labels)
        PyMem_RawFree(self.found.targets)
        self.found = found
        return answer

    cdef int _make_room(self, uint32_t targets) except -1:
        """Grow the set for targets that are newer than the table."""
        if targets > self.own_targets.total:
            close_targets(&self.own_targets)
            open_targets(&self.own_targets, targets + targets // 4)
        return 0

    def postings(self):
        """Return the numbers of postings: bucket singles and entries, listed ones, blocked entries, always."""
        cdef View *view = &self.view
        return (view.bucket.target_count, view.bucket.entry_count, view.listed.target_count,
                view.listed.entry_count, view.blocked.entry_count, view.always_count)

    def words_of(self, frozenset tests):
        """Return the words of a set of (name or tag, test, constant), sorted; None if the table lacks one."""
        words = empty("Q", len(tests) + 1)
        cdef uint64_t[::1] out = words
        cdef Py_ssize_t count = encode_tests(&self.view, self.symbols, tests, &out[0])
        return None if count < 0 else words[:count]

    def match_batch(self, Batch batch, Py_ssize_t first, Py_ssize_t end):
        """Match messages `first` to `end`; return offsets, targets and the number of postings visited.

        Runs without the GIL: several threads may match at once.
        """
        cdef State *states
        cdef View view = self.view
        cdef TargetSet set
        cdef Found found
        cdef Py_ssize_t row, widest = 0
        cdef bint ok = True
        cdef uint32_t at_once = MESSAGES_AT_ONCE if self.view.bytes > CACHED_BYTES else 1
        cdef uint32_t group = _group_size(&view, at_once)
        cdef uint32_t i
        offsets = empty("q", end - first + 1)
        cdef int64_t[::1] ends = offsets
        view.removed = NULL
        states = <State *> zeroed(group, sizeof(State))
        memset(&set, 0, sizeof(set))
        memset(&found, 0, sizeof(found))
        for row in range(first, end):
            widest = max(widest, batch.offsets[row + 1] - batch.offsets[row])
        try:
            open_targets(&set, self.targets)
            for i in range(group):
                open_state(states + i, &view, self.symbols, &set)
                if not reserve_leaves(&states[i].leaves, &states[i].leaf_room, widest):
                    raise MemoryError
            with nogil:
                ends[0] = 0
                row = first
                while ok and row < end:
                    ok = _match_rows(&view, states, batch, row, min(end, row + group), at_once, &found, &ends[row - first])
                    row += group
            if not ok:
                raise MemoryError
            return offsets, owned(found.targets, found.used), sum([states[i].touched for i in range(group)])
        except MemoryError:
            PyMem_RawFree(found.targets)
            raise
        finally:
            close_targets(&set)
            for i in range(group):
                close_state(states + i)
            PyMem_RawFree(states)


cdef uint32_t _group_size(const View *view, uint32_t at_once) noexcept nogil:
    """Return how many messages walk the blocks together: as many as the cache holds beside a block."""
    cdef uint64_t bytes = sizeof(uint32_t) * (<uint64_t> view.symbols + 2 * <uint64_t> view.blocks.dimensions)
    if view.blocks.count == 0:
        return at_once
    return <uint32_t> max(MESSAGES_AT_ONCE, min(MESSAGES_IN_GROUP, GROUP_BYTES // (bytes + 1)))


cdef bint _match_rows(const View *view, State *states, Batch batch, Py_ssize_t first, Py_ssize_t end, uint32_t at_once,
                      Found *found, int64_t *ends) noexcept nogil:
    """Match a few messages; append their targets, and write where those of each end; return False if out of memory."""
    cdef Py_ssize_t row
    for row in range(first, end):
        set_message(states + (row - first), batch, row)
    enter_messages(view, states, <uint32_t> (end - first))
    for row in range(first, end):
        if (row - first) % at_once == 0:
            begin_matching(view, states + (row - first), <uint32_t> min(<Py_ssize_t> at_once, end - row))
        finish_matching(view, states + (row - first))
        if states[row - first].search.undecided_count:
            _note_row(batch, row, states + (row - first))
        if states[row - first].search.is_out_of_memory or not take_targets(states.targets, found):
            return False
        ends[row - first + 1] = found.used
    return True


cdef void _note_row(Batch batch, Py_ssize_t row, State *state) noexcept with gil:
    batch.undecided += [(row, target) for target in take_undecided(&state.search, state.targets)]


cdef list _decided(list found, list undecided, list labels):
    """Return the labels that were found; raise an error if there are undecided targets."""
    if undecided:
        raise UndecidedError([labels[target] for target in undecided if target < len(labels)], found, MAX_EXAMINED)
    return found


cdef class Remainder:
    """An index without the postings that were removed from it."""

    def __init__(self, PivotIndex index not None, removed=None):
        self.index = index
        self._set(removed)

    cdef int _set(self, object removed) except -1:
        cdef uint8_t[::1] bits = removed
        self.bits = NULL if removed is None else &bits[0]
        self.removed = removed
        return 0

    def copy(self):
        """Return an independent copy."""
        return Remainder(self.index, None if self.removed is None else self.removed.copy())

    def find(self, frozenset tests, uint32_t target):
        """Return the number of the posting that is this filter of a target, or -1; see `find_filter`."""
        cdef uint64_t few[FEW_TESTS]
        cdef uint64_t *words = few
        cdef Py_ssize_t count
        cdef View *view = &self.index.view
        if target >= self.index.targets:
            return -1
        if len(tests) > FEW_TESTS:
            words = <uint64_t *> zeroed(len(tests), sizeof(uint64_t))
        view.removed = self.bits
        try:
            count = encode_tests(view, self.index.symbols, tests, words)
            return -1 if count < 0 else find_filter(view, words, count, target)
        finally:
            if words != few:
                PyMem_RawFree(words)

    def remove(self, uint64_t posting):
        """Remove a posting by its number."""
        if self.removed is None:
            removed = empty("B", sum(self.index.postings()) // 8 + 1)
            removed[:] = 0
            self._set(removed)
        self.bits[posting >> 3] |= <uint8_t> (1 << (posting & 7))


def match_together(tuple remainders, tuple recents, message, list labels, credit=None):
    """Match one message with several indexes; return the labels of its targets, in order.

    message: in its JSON form; or, if there are no memtables, as its leaves and tags. None if it is not plain
    and valid, or nested where a memtable would have to read it. Filters with conditions in memtables are left out. A
    filter that moves from one index to a later one during the call is seen at least once.

    credit: of large searches, once they have taken about a millisecond together: `limit(target)` returns how many
    candidates one for a filter of this target may examine, and `charge(target, count)` is called with what it did. Only one
    thread may match with a credit. Raises UndecidedError if a search was given up.
    """
    cdef Remainder remainder
    cdef PivotIndex first = (<Remainder> remainders[0]).index
    cdef set undecided = set()
    cdef int64_t free = ALLOWANCE
    cdef int64_t work = INT64_MAX if credit is None else FREE_STEPS
    cdef list tags
    cdef bint is_read = True
    if recents:
        tags = _plain_tags((<dict> message).get("#", ()))
        if tags is None:
            return None
    first._make_room(<uint32_t> len(labels))
    try:
        for remainder in remainders:
            if is_read:
                remainder.index.own.search.credit = NULL if credit is None else <PyObject *> credit
                remainder.index.own.search.free = free
                remainder.index.own.search.work = work
                is_read = remainder.index._add_targets(message, &first.own_targets, remainder.bits)
                free = remainder.index.own.search.free
                work = remainder.index.own.search.work
        if is_read and recents:
            is_read = _add_recent_targets(recents, message, tags, &first.own_targets)
    except:
        first._labelled([])  # forget the targets found so far
        raise
    finally:
        for remainder in remainders:
            remainder.index.own.search.credit = NULL
            remainder.index.own.search.work = INT64_MAX
            if remainder.index.own.search.undecided_count:
                undecided.update(take_undecided(&remainder.index.own.search, &first.own_targets))
    found = first._labelled(labels if is_read else [])
    return _decided(found, sorted(undecided), labels) if is_read else None


cdef FrameMessage _members  # that is being matched; the GIL is held from reading it to the last memtable


cdef bint _add_recent_targets(tuple recents, dict members, list tags, TargetSet *targets) except -1:
    """Add the targets that memtables have for a message; return False if it is not plain and valid, or nested there."""
    cdef MemtableIndex recent
    if not any([len(each) for each in recents]):
        return True
    if not read_members(members, tags, &_members):
        return False
    for recent in recents:
        if not recent.has_read(&_members):
            return False
        recent.add_targets(&_members, targets)
    return True


cdef list _plain_tags(tags):
    """Return tags as a list, or None."""
    if type(tags) is not list:
        if not isinstance(tags, (tuple, set, frozenset)):
            return None
        tags = list(tags)
    for tag in tags:
        if type(tag) is not str:
            return None
    return tags

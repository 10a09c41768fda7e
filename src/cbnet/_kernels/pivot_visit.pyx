"""Visits of queued postings of the pivot index. See `pivot_visit.pxd`."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from cbnet._kernels.binding_search cimport binding_exists, condition_passes
from cbnet._kernels.pivot_state cimport State, Visit, has_mark
from cbnet._kernels.pivot_view cimport GROUP, Entry, View, is_removed, listed_word
from cbnet._kernels.target_set cimport TargetSet, add_target, has_target, is_full
from cbnet._kernels.test_codes cimport CONDITION, EXISTS, IS_TAG
from cbnet._kernels.word_test cimport passes


cdef bint _holds(const View *view, State *state, uint64_t word) noexcept nogil:
    """Return whether a message of single values passes the test of a word."""
    cdef uint32_t symbol = <uint32_t> (word >> 38)
    cdef uint32_t test = (word >> 32) & 63
    cdef uint32_t slot
    if symbol >= view.symbols:
        return False
    slot = state.leaves.slots[symbol]
    if slot == 0:
        return False
    if test == IS_TAG:
        return True
    if symbol == view.message_symbol:  # not an attribute of the message
        return test == EXISTS or (
            test == CONDITION and condition_passes(&view.constants, &state.leaves, <uint32_t> word)
        )
    return passes(&view.constants, state.leaves.attributes + slot - 1, state.leaves.places[slot - 1], test, <uint32_t> word)


cdef inline void deliver(const View *view, State *state, uint32_t target) noexcept nogil:
    cdef uint32_t at, end
    if target < GROUP:
        if target < state.targets.total:
            add_target(state.targets, target)
        return
    target -= GROUP
    if target < view.groups:
        end = min(view.group_offsets[target + 1], view.group_total)
        for at in range(view.group_offsets[target], end):
            if view.group_targets[at] < state.targets.total:
                add_target(state.targets, view.group_targets[at])


cdef void _visit_singles(const View *view, State *state, const Visit *visit) noexcept nogil:
    """Deliver to the targets of filters of their pivot only.

    Nothing here depends on the message, so there is no branch to mispredict: a message that goes to
    thousands of interfaces spends its time here.
    """
    cdef uint32_t single
    cdef TargetSet targets = state.targets[0]
    cdef const uint32_t *singles = visit.postings.targets
    state.touched += visit.single_end - visit.single
    for single in range(visit.single, visit.single_end):
        if view.removed == NULL or not is_removed(view, visit.first_single + single):
            if singles[single] < targets.total:
                add_target(&targets, singles[single])


cdef void _visit_entries(const View *view, State *state, const Visit *visit) noexcept nogil:
    """Deliver to the targets of entries whose other tests hold."""
    cdef uint32_t entry, target, test, test_end
    cdef uint64_t missing = ~state.mask
    cdef TargetSet targets = state.targets[0]
    cdef const Entry *entries = visit.postings.entries
    cdef const uint8_t *marks = visit.postings.marks
    cdef const Entry *candidate
    for entry in range(visit.entry, visit.entry_end):
        if not has_mark(state, marks[entry]):
            continue
        state.touched += 1
        candidate = entries + entry
        if candidate.mask & missing:
            continue
        target = candidate.target
        if target < targets.total and has_target(&targets, target):
            continue
        if view.removed != NULL and is_removed(view, visit.first_entry + entry):
            continue
        test = candidate.tests
        test_end = min((candidate + 1).tests, view.word_count)
        while test < test_end and _holds(view, state, view.words[test]):
            test += 1
        if test >= test_end:
            deliver(view, state, target)


cdef void _visit_whole_entries(const View *view, State *state, const Visit *visit) noexcept nogil:
    """Deliver to the targets of entries that some binding of the message satisfies."""
    cdef bint is_listed = visit.postings == &view.listed
    cdef uint64_t pivot = visit.pivot
    cdef uint32_t entry, test_end
    cdef const Entry *candidate
    for entry in range(visit.entry, visit.entry_end):
        if not has_mark(state, visit.postings.marks[entry]):
            continue
        state.touched += 1
        candidate = visit.postings.entries + entry
        if candidate.mask & ~state.mask:
            continue
        if candidate.target < state.targets.total and has_target(state.targets, candidate.target):
            continue
        if view.removed != NULL and is_removed(view, visit.first_entry + entry):
            continue
        test_end = min((candidate + 1).tests, view.word_count)
        if is_listed:
            pivot = listed_word(visit.pivot, view.entry_bounds[entry])
        if candidate.tests <= test_end and binding_exists(&view.constants, &state.leaves, &state.search, &pivot,
                                                          view.words + candidate.tests, test_end - candidate.tests):
            deliver(view, state, candidate.target)


cdef void visit_queued(const View *view, State *state) noexcept nogil:
    """Visit the queued postings: singles first, so that a small set of targets is soon full."""
    cdef uint32_t i
    for i in range(state.visits):
        if state.visit[i].single < state.visit[i].single_end and not is_full(state.targets):
            _visit_singles(view, state, &state.visit[i])
    for i in range(state.visits):
        if state.visit[i].entry < state.visit[i].entry_end and not is_full(state.targets):
            if state.has_several:
                _visit_whole_entries(view, state, &state.visit[i])
            else:
                _visit_entries(view, state, &state.visit[i])
    state.visits = 0

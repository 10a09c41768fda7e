"""The right side of the counting index. See `counting_postings.pxd`."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from cbnet._kernels.binding_search cimport binding_exists
from cbnet._kernels.counting_state cimport RUN_ROOM, Run, State
from cbnet._kernels.counting_view cimport View
from cbnet._kernels.intrinsics cimport prefetch
from cbnet._kernels.target_set cimport add_target

cdef enum:
    LARGE = 255         # a filter of this size or more has a rest
    CHUNK = 64          # postings whose interfaces are read before any is counted
    COPIED = 32         # counters copied in the time of restoring one


cdef bint _is_complete(State *state, uint32_t filter) noexcept nogil:
    """Return whether a counter at 0 is complete; else refill it from the rest of a large size."""
    cdef const View *view = state.view
    cdef uint32_t first = 0
    cdef uint32_t count = view.large_count
    cdef uint32_t half, more
    if view.sizes[filter] < LARGE:
        return True
    while count > 0:
        half = count >> 1
        if view.large_filters[first + half] < filter:
            first += half + 1
            count -= half + 1
        else:
            count = half
    if first >= view.large_count or state.large_rests[first] == 0:
        return True
    more = min(state.large_rests[first], <uint32_t> LARGE)
    state.large_rests[first] -= more
    state.counters[filter] = <uint8_t> more
    state.has_refilled = True
    return False


cdef bint _is_satisfied(State *state, uint32_t filter) noexcept nogil:
    """Return whether a filter whose counted constraints hold is satisfied as a whole."""
    cdef const View *view = state.view
    cdef uint32_t first, end
    if not state.has_several and (view.uncounted == NULL or not view.uncounted[filter]):
        return True
    end = min(view.filter_offsets[filter + 1], view.filter_word_count)
    first = min(view.filter_offsets[filter], end)
    return binding_exists(&view.constants, &state.leaves, &state.bindings, NULL, view.filter_words + first, end - first)


cdef void complete(State *state, uint32_t filter, uint32_t target) noexcept nogil:
    """Add the interface of a filter whose constraints are counted, if it is satisfied."""
    if not state.is_verified or _is_satisfied(state, filter):
        deliver(state, target)


cdef void deliver(State *state, uint32_t target) noexcept nogil:
    """Add an interface to the answer."""
    add_target(&state.targets, target)
    if state.is_short and not is_ignored(state.ignored, target):
        state.ignored[target >> 6] |= (<uint64_t> 1) << (target & 63)
        state.remaining -= 1


cdef void _count_checked(State *state, Run *run) noexcept nogil:
    """Count a run of postings, except those of ignored interfaces.

    This is the hottest loop. Whether an interface is ignored is hard to predict, so the remaining
    postings are first collected without a branch: 530 µs became 300 with 1 million interfaces, of which
    10 rounds exclude more than half. An interface matched since then is checked again: the count is exact.
    """
    cdef const View *view = state.view
    cdef const uint32_t *filters = view.posting_filters
    cdef const uint32_t *targets = view.posting_targets
    cdef const uint64_t *ignored = state.ignored
    cdef uint8_t *counters = state.counters
    cdef uint32_t filter_count = view.filters
    cdef uint32_t target_count = state.targets.total
    cdef uint32_t left[CHUNK]
    cdef uint32_t at = run.first
    cdef uint32_t place, end, target, filter, count, i
    cdef int64_t counted = 0
    cdef bint has_matched
    while at < run.end and state.remaining:
        end = at + min(<uint32_t> CHUNK, run.end - at)
        count = 0
        for place in range(at, end):
            target = targets[place]
            if target < target_count:
                left[count] = place
                count += not is_ignored(ignored, target)
        at = end
        has_matched = False
        for i in range(count):
            filter = filters[left[i]]
            if filter >= filter_count or (has_matched and is_ignored(ignored, targets[left[i]])):
                continue
            counted += 1
            counters[filter] -= 1
            if counters[filter] == 0 and _is_complete(state, filter):
                complete(state, filter, targets[left[i]])
                has_matched = state.is_short
                if state.remaining == 0:
                    at = left[i] + 1
                    break
    run.end = at
    state.work.counters += counted
    state.touched += at - run.first


cdef void _count_all(State *state, const Run *run) noexcept nogil:
    """Count a run of postings."""
    cdef const View *view = state.view
    cdef const uint32_t *filters = view.posting_filters
    cdef uint8_t *counters = state.counters
    cdef uint32_t filter_count = view.filters
    cdef uint32_t at, filter
    for at in range(run.first, run.end):
        filter = filters[at]
        if filter >= filter_count:
            continue
        counters[filter] -= 1
        if counters[filter] == 0 and _is_complete(state, filter):
            if view.posting_targets[at] < state.targets.total:
                complete(state, filter, view.posting_targets[at])
    state.work.counters += run.end - run.first
    state.touched += run.end - run.first


cdef void count_found(State *state) noexcept nogil:
    """Count the runs found since the last call."""
    while state.counted < state.found and state.remaining:
        if state.is_checked:
            _count_checked(state, &state.run[state.counted])
        else:
            _count_all(state, &state.run[state.counted])
        state.counted += 1


cdef void find_range(State *state, uint32_t first, uint32_t end) noexcept nogil:
    """Record that a range of constraints holds; one that another value satisfied counts once."""
    cdef uint32_t constraint
    end = min(end, state.view.constraint_count)
    if not state.has_several:
        if first < end:
            _find_run(state, first, end)
        return
    for constraint in range(first, end):
        if state.stamps[constraint] != state.stamp:
            state.stamps[constraint] = state.stamp
            _find_run(state, constraint, constraint + 1)


cdef void find_one(void *state, uint32_t constraint) noexcept nogil:
    find_range(<State *> state, constraint, constraint + 1)


cdef void _find_run(State *state, uint32_t first, uint32_t end) noexcept nogil:
    """Record a range of constraints, not empty, and prefetch its postings."""
    cdef const View *view = state.view
    cdef Run *run
    if state.found == RUN_ROOM:
        count_found(state)
        state.counted = state.found = 0
        state.has_more = True
    run = &state.run[state.found]
    run.end = min(view.posting_offsets[end], view.posting_count)
    run.first = min(view.posting_offsets[first], run.end)
    prefetch(view.posting_filters + run.first)
    prefetch(view.posting_targets + run.first)
    state.found += 1
    state.work.constraints += end - first


cdef void restore(State *state) noexcept nogil:
    """Restore all counters for the next message."""
    cdef const View *view = state.view
    cdef uint32_t i, at, filter
    if state.has_more or state.touched * COPIED > view.filters:
        memcpy(state.counters, view.sizes, view.filters)
    else:
        for i in range(state.counted):
            for at in range(state.run[i].first, state.run[i].end):
                filter = view.posting_filters[at]
                if filter < view.filters:
                    state.counters[filter] = view.sizes[filter]
    if state.has_refilled:
        memcpy(state.large_rests, view.large_rests, view.large_count * sizeof(uint32_t))
    state.work.postings += state.touched
    state.touched = 0
    state.counted = state.found = 0
    state.has_more = state.has_refilled = False

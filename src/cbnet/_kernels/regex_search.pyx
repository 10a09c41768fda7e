"""Search for regular expressions; `regex_search.pxd` draws the program.

The search follows all ways at once [Thompson 1968]. `reached` holds the steps that accept a character at the present place,
each once: a mark of the place keeps a step from being added again. So the work for a character is bounded by the number of
steps. These steps are counted: a search that would take more than it may is given up. Every read of the program is
checked: a damaged one may give a wrong answer, but is not read beyond its end.
"""

from libc.stdint cimport INT64_MAX, uint16_t, uint32_t
from libc.string cimport memcpy, memset

from cbnet._kernels.byte_strings cimport PyUnicode_AsUTF8AndSize
from cbnet._kernels.condition_text cimport decode

cdef enum:
    MAX_STEPS = 512     # language.regex.MAX_STEPS
    HEADER = 12         # bytes
    STEP_BYTES = 12
    RANGE_BYTES = 8
    BEGINNING = 50      # steps that take as long as to begin a search

cdef enum Operation:
    RANGE = 1
    CLASS = 2
    SPLIT = 3
    JUMP = 4
    ASSERT = 5
    MATCH = 6

cdef enum Place:
    BEGIN_TEXT = 1
    END_TEXT = 2
    BEGIN_LINE = 3
    END_LINE = 4
    WORD_EDGE = 5
    NO_WORD_EDGE = 6

cdef struct Step:
    uint32_t op
    uint32_t first
    uint32_t second

cdef struct Search:
    const uint8_t *steps
    const uint8_t *ranges
    uint32_t step_count
    uint32_t range_count
    const uint8_t *text
    Py_ssize_t length
    Py_ssize_t at           # bytes before the present place
    uint32_t place          # its number from 1 on, for `marks`
    bint is_found
    bint is_damaged
    uint32_t marks[MAX_STEPS]       # the last place at which a step was reached
    uint16_t todo[MAX_STEPS]        # steps that are reached and go on without a character
    uint32_t todo_count
    uint16_t *reached               # those that accept a character
    uint32_t reached_count
    uint32_t visited        # steps at the present place


cdef inline bint _is_word(uint8_t byte) noexcept nogil:
    return c'0' <= byte <= c'9' or c'a' <= (byte | 0x20) <= c'z' or byte == c'_'


cdef bint _holds(const Search *state, uint32_t place) noexcept nogil:
    """Return whether an assertion holds at the present place."""
    cdef bint is_first = state.at == 0
    cdef bint is_last = state.at == state.length
    cdef uint8_t before = 0 if is_first else state.text[state.at - 1]
    cdef uint8_t after = 0 if is_last else state.text[state.at]
    if place == BEGIN_TEXT:
        return is_first
    if place == END_TEXT:
        return is_last
    if place == BEGIN_LINE:
        return is_first or before == c'\n'
    if place == END_LINE:
        return is_last or after == c'\n'
    return (_is_word(before) != _is_word(after)) == (place == WORD_EDGE)


cdef inline Step _step(const Search *state, uint32_t number) noexcept nogil:
    cdef Step step
    memcpy(&step, state.steps + number * STEP_BYTES, STEP_BYTES)
    return step


cdef inline uint32_t _operation(const Search *state, uint32_t number) noexcept nogil:
    cdef uint32_t op
    memcpy(&op, state.steps + number * STEP_BYTES, 4)
    return op


cdef inline void _reach(Search *state, uint32_t number) noexcept nogil:
    """Note a step that is reached at the present place, once."""
    if number >= state.step_count:
        state.is_damaged = True
    elif state.marks[number] != state.place:
        state.marks[number] = state.place
        state.visited += 1
        if _operation(state, number) <= CLASS:
            state.reached[state.reached_count] = number
            state.reached_count += 1
        else:
            state.todo[state.todo_count] = number
            state.todo_count += 1


cdef void _close(Search *state) noexcept nogil:
    """Follow the noted steps to those that accept a character."""
    cdef uint32_t number
    cdef Step step
    while state.todo_count and not state.is_damaged:
        state.todo_count -= 1
        number = state.todo[state.todo_count]
        step = _step(state, number)
        if step.op == SPLIT:
            _reach(state, step.first)
            _reach(state, step.second)
        elif step.op == JUMP:
            _reach(state, step.first)
        elif step.op == ASSERT:
            if _holds(state, step.first):
                _reach(state, number + 1)
        else:
            state.is_found = True


cdef bint _is_in_class(Search *state, uint32_t first, uint32_t count, uint32_t character) noexcept nogil:
    """Return whether a character is in one of some ranges, by bisection."""
    cdef uint32_t pair[2]
    cdef uint32_t middle
    if first > state.range_count or count > state.range_count - first:
        state.is_damaged = True
        return False
    while count:
        middle = count >> 1
        memcpy(pair, state.ranges + <Py_ssize_t> (first + middle) * RANGE_BYTES, RANGE_BYTES)
        if character < pair[0]:
            count = middle
        elif character > pair[1]:
            first += middle + 1
            count -= middle + 1
        else:
            return True
    return False


cdef inline bint _accepts(Search *state, const Step *step, uint32_t character) noexcept nogil:
    if step.op == RANGE:
        return step.first <= character <= step.second
    return _is_in_class(state, step.first, step.second, character)


cdef bint _open(Search *state, const uint8_t *program, Py_ssize_t size, bint *at_start) noexcept nogil:
    """Read the header; return whether the sizes agree."""
    cdef uint32_t header[3]
    if size < HEADER:
        return False
    memcpy(header, program, HEADER)
    if not 0 < header[0] <= MAX_STEPS or header[1] > MAX_STEPS * <uint32_t> MAX_STEPS:
        return False
    state.step_count = header[0]
    state.range_count = header[1]
    at_start[0] = header[2] != 0
    state.steps = program + HEADER
    state.ranges = state.steps + header[0] * STEP_BYTES
    memset(state.marks, 0, header[0] * sizeof(uint32_t))
    return size == HEADER + <Py_ssize_t> header[0] * STEP_BYTES + <Py_ssize_t> header[1] * RANGE_BYTES


cdef int search(const uint8_t *program, Py_ssize_t size, const uint8_t *text, Py_ssize_t length, int64_t *work) noexcept nogil:
    """Return 1 if the pattern occurs in the text, 0 if it does not, -1 if the program is damaged.

    work: steps that may be taken, counted down; below zero: the search was given up.
    """
    cdef Search state
    cdef uint16_t lists[2][MAX_STEPS]
    cdef uint16_t *before
    cdef uint32_t count, index, character
    cdef int width
    cdef int side = 0
    cdef bint at_start
    cdef Step step
    if not _open(&state, program, size, &at_start):
        return -1
    state.text = text
    state.length = length
    state.at = 0
    state.place = 1
    state.todo_count = 0
    state.is_found = state.is_damaged = False
    state.reached = lists[0]
    state.reached_count = 0
    state.visited = BEGINNING
    _reach(&state, 0)
    _close(&state)
    while not state.is_found and not state.is_damaged and state.at < length:
        if at_start and state.reached_count == 0:
            break
        work[0] -= state.visited
        if work[0] < 0:
            return -1
        state.visited = 1
        before = state.reached
        count = state.reached_count
        side = 1 - side
        state.reached = lists[side]
        state.reached_count = 0
        character = decode(text + state.at, length - state.at, &width)
        state.at += width
        state.place += 1
        for index in range(count):
            step = _step(&state, before[index])
            if _accepts(&state, &step, character):
                _reach(&state, before[index] + 1)
        if not at_start:
            _reach(&state, 0)
        _close(&state)
    work[0] -= state.visited
    return -1 if state.is_damaged or work[0] < 0 else state.is_found


def occurs(bytes program, str text):
    """Return whether a pattern occurs in a text, from the bytes of its program."""
    cdef Py_ssize_t length
    cdef const uint8_t *first = <const uint8_t *> PyUnicode_AsUTF8AndSize(text, &length)
    cdef const uint8_t *code = program
    cdef Py_ssize_t size = len(program)
    cdef int64_t work = INT64_MAX
    return search(code, size, first, length, &work) == 1

"""Evaluation of compiled conditions, and the names that they contain. `condition_codes.pxd` draws the code.

Numbers, comparison and unknown outcomes are those of `language.condition`, the plain Python twin. An operand that is
unknown makes every test unknown, so evaluation ends there. Every read of the code is checked: damaged code may give a
wrong answer, but is not read beyond its end.
"""

from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from libc.math cimport fabs
from libc.stdint cimport INT64_MAX, INT64_MIN, int64_t
from libc.stdio cimport snprintf
from libc.string cimport memcmp, memcpy

from cbnet._kernels.byte_strings cimport PyUnicode_AsUTF8AndSize, has_pattern
from cbnet._kernels.condition_codes cimport *
from cbnet._kernels.condition_text cimport (
    change_case, changed_room, character_count, has_prefix, is_like, read_address, read_bool, read_int,
)
from cbnet._kernels.dict_encoding cimport read_value
from cbnet._kernels.intrinsics cimport add_overflows, multiply_overflows, subtract_overflows
from cbnet._kernels.memory cimport resized
from cbnet._kernels.message_encoding cimport BOOL, NULL_VALUE, NUMBER, STRING
from cbnet._kernels.regex_search cimport search
from cbnet._kernels.time_text cimport read_time
from cbnet._kernels.test_codes cimport OP_EQ, OP_GE, OP_LE, OP_NE, OP_PREFIX, OP_SUBSTRING


# --- names and tags --------------------------------------------------------------------------

cdef Py_ssize_t next_mention(const uint8_t *code, Py_ssize_t length, Py_ssize_t at, Mention *mention) noexcept nogil:
    """Read the next name or tag from offset `at` on (1 at first); return the offset after it, or 0."""
    cdef Reader reader
    cdef Operand constant
    cdef const uint8_t *text
    if at < 1 or at >= length:
        return 0
    reader.at = code + at
    reader.end = code + length
    while reader.at < reader.end:
        mention.operation = reader.at[0]
        reader.at += 1
        if mention.operation in (ATTRIBUTE, PRESENCE, HAS_TAG):
            if not read_text(&reader, &text, &mention.length):
                return 0
            mention.text = <const char *> text
            return reader.at - code
        if mention.operation <= STRING_CONSTANT:
            if not read_constant(&reader, mention.operation, &constant):
                return 0
        elif COMPARISON <= mention.operation < TIME_OF:  # a test, the last operation
            return 0
    return 0


def mentions(bytes code):
    """Return the names and tags in the code, as pairs of text and whether it is a tag."""
    cdef const uint8_t *first = code
    cdef Mention mention
    cdef Py_ssize_t at = next_mention(first, len(code), 1, &mention)
    found = []
    while at:
        found.append((mention.text[:mention.length].decode(), mention.operation == HAS_TAG))
        at = next_mention(first, len(code), at, &mention)
    return found


# --- tests of operands -----------------------------------------------------------------------

cdef inline int _as_outcome(bint holds) noexcept nogil:
    return IS_TRUE if holds else IS_FALSE


cdef int _order(const Operand *left, const Operand *right) noexcept nogil:
    """Return a number below, equal to or above 0, as two numbers or two strings compare."""
    cdef Py_ssize_t shorter
    cdef int difference
    if left.kind == STRING:
        shorter = min(left.length, right.length)
        difference = memcmp(left.text, right.text, shorter)
        return difference if difference else (left.length > right.length) - (left.length < right.length)
    if left.is_int and right.is_int:
        return (left.whole > right.whole) - (left.whole < right.whole)
    if left.is_int:  # never equal to a float that is no int; only the nearest floats may be equal, at 2**63
        return 1 if left.real > right.real else -1
    if right.is_int:
        return -1 if left.real < right.real else 1
    return (left.real > right.real) - (left.real < right.real)


cdef bint _are_equal(const Operand *left, const Operand *right) noexcept nogil:
    """Return whether two values of the same type are equal."""
    if left.kind == NULL_VALUE:
        return True
    if left.kind == BOOL:
        return left.whole == right.whole
    return _order(left, right) == 0


cdef int _compare(int op, const Operand *left, const Operand *right) noexcept nogil:
    cdef int order
    if op <= OP_NE:
        if left.is_null_constant or right.is_null_constant:
            return _as_outcome((left.kind == right.kind) == (op == OP_EQ))
        if left.kind != right.kind:
            return IS_UNKNOWN
        return _as_outcome(_are_equal(left, right) == (op == OP_EQ))
    if left.kind != right.kind or left.kind == BOOL or left.kind == NULL_VALUE:
        return IS_UNKNOWN
    if op >= OP_PREFIX:
        if left.kind != STRING:
            return IS_UNKNOWN
        return _as_outcome(has_pattern(op - OP_PREFIX, left.text, left.length, right.text, right.length))
    order = _order(left, right)
    if op <= OP_LE:
        return _as_outcome(order < (op == OP_LE))
    return _as_outcome(order > -<int> (op == OP_GE))


cdef int _find_member(Reader *reader, const Operand *operand) noexcept nogil:
    """Return true if a constant of the set is equal, else false if one has the same type."""
    cdef uint32_t count
    cdef uint8_t operation
    cdef Operand constant
    cdef int outcome = IS_UNKNOWN
    if reader.end - reader.at < 4:
        return DAMAGED
    memcpy(&count, reader.at, 4)
    reader.at += 4
    while count:
        if reader.at >= reader.end:
            return DAMAGED
        operation = reader.at[0]
        reader.at += 1
        if not read_constant(reader, operation, &constant):
            return DAMAGED
        if constant.kind == operand.kind:
            if _are_equal(operand, &constant):
                return IS_TRUE
            outcome = IS_FALSE
        count -= 1
    return outcome


cdef int _find_address(Reader *reader, const Operand *operand) noexcept nogil:
    """Return whether a string is an address of the block; unknown if it is not an address."""
    cdef uint8_t address[16]
    cdef int version
    if reader.end - reader.at < 18 or reader.at[1] > (32 if reader.at[0] == 4 else 128):
        return DAMAGED
    if operand.kind != STRING:
        return IS_UNKNOWN
    version = read_address(operand.text, operand.length, address)
    if version == 0:
        return IS_UNKNOWN
    return _as_outcome(version == reader.at[0] and has_prefix(address, reader.at + 2, reader.at[1]))


cdef int _find_regex(Reader *reader, const Operand *operand, Scope *scope) noexcept nogil:
    """Return whether a regular expression occurs in a string."""
    cdef const uint8_t *text
    cdef uint32_t length
    cdef int found
    if not read_text(reader, &text, &length) or not read_text(reader, &text, &length):
        return DAMAGED
    if operand.kind != STRING:
        return IS_UNKNOWN
    found = search(text, length, operand.text, operand.length, &scope.work)
    return DAMAGED if found < 0 else _as_outcome(found)


cdef enum:
    MAX_OPERANDS = 65   # language.expression.MAX_EXPRESSION_DEPTH, and one before: the left side
    SCRATCH = 512       # bytes for changed strings; longer ones are allocated
    DIGITS = 24         # bytes for the text of an int, with the zero at its end
    NEXT = 8            # evaluation goes on

cdef struct Machine:
    Reader reader
    int depth
    Operand operands[MAX_OPERANDS]
    Py_ssize_t scratch_used
    uint8_t scratch[SCRATCH]


cdef const uint8_t *_TRUE = b"true"
cdef const uint8_t *_FALSE = b"false"


cdef int _push(Machine *machine, uint8_t operation, Scope *scope) noexcept nogil:
    """Push a constant or the value of an attribute."""
    cdef Operand *operand
    cdef const uint8_t *name
    cdef uint32_t length
    if machine.depth == MAX_OPERANDS:
        return DAMAGED
    operand = &machine.operands[machine.depth]
    if operation == ATTRIBUTE:
        if not read_text(&machine.reader, &name, &length):
            return DAMAGED
        if not set_value(operand, scope.bound(scope.context, <const char *> name, length)):
            return IS_UNKNOWN
    elif not read_constant(&machine.reader, operation, operand):
        return DAMAGED
    machine.depth += 1
    return NEXT


# --- expressions -----------------------------------------------------------------------------

cdef bint _divide_ints(uint8_t operation, Operand *left, const Operand *right) noexcept nogil:
    """Divide toward zero; return False where there is no result."""
    if not left.is_int or not right.is_int or right.whole == 0:
        return False
    if right.whole != -1:
        left.whole = left.whole % right.whole if operation == REMAINDER else left.whole // right.whole
    elif operation == REMAINDER:
        left.whole = 0
    elif subtract_overflows(0, left.whole, &left.whole):  # the least int has no opposite
        return set_number(left, 9223372036854775808.0, 0)
    left.real = <double> left.whole
    return True


cdef int _calculate(Machine *machine, uint8_t operation) noexcept nogil:
    """Replace two numbers by their sum, difference, product or quotient."""
    cdef Operand *left
    cdef Operand *right
    cdef bint overflows = True
    cdef double real
    if machine.depth < 2:
        return DAMAGED
    left = &machine.operands[machine.depth - 2]
    right = &machine.operands[machine.depth - 1]
    if left.kind != NUMBER or right.kind != NUMBER:
        return IS_UNKNOWN
    machine.depth -= 1
    if operation == WHOLE_DIVIDE or operation == REMAINDER:
        return NEXT if _divide_ints(operation, left, right) else IS_UNKNOWN
    if left.is_int and right.is_int:
        if operation == ADD:
            overflows = add_overflows(left.whole, right.whole, &left.whole)
        elif operation == SUBTRACT:
            overflows = subtract_overflows(left.whole, right.whole, &left.whole)
        elif operation == MULTIPLY:
            overflows = multiply_overflows(left.whole, right.whole, &left.whole)
    if not overflows:
        left.real = <double> left.whole
        return NEXT
    if operation == ADD:
        real = left.real + right.real
    elif operation == SUBTRACT:
        real = left.real - right.real
    elif operation == MULTIPLY:
        real = left.real * right.real
    elif right.real != 0:
        real = left.real / right.real
    else:
        return IS_UNKNOWN
    return NEXT if set_number(left, real, 0) else IS_UNKNOWN


cdef int _convert(Machine *machine, bint to_upper) noexcept nogil:
    """Replace a string by its lower or upper case; unknown if there is no memory for it."""
    cdef Operand *operand
    cdef uint8_t *changed
    cdef Py_ssize_t room
    if machine.depth < 1:
        return DAMAGED
    operand = &machine.operands[machine.depth - 1]
    if operand.kind != STRING:
        return IS_UNKNOWN
    room = changed_room(operand.length)
    if room <= SCRATCH - machine.scratch_used:
        changed = machine.scratch + machine.scratch_used
        operand.length = change_case(operand.text, operand.length, to_upper, changed)
        machine.scratch_used += operand.length
        PyMem_RawFree(operand.allocated)
        operand.allocated = NULL
    else:
        changed = <uint8_t *> PyMem_RawMalloc(room)
        if changed == NULL:
            return IS_UNKNOWN
        operand.length = change_case(operand.text, operand.length, to_upper, changed)
        PyMem_RawFree(operand.allocated)
        operand.allocated = changed
    operand.text = changed
    return NEXT


cdef int _set_int(Operand *operand, int64_t whole) noexcept nogil:
    """Replace an operand by an int."""
    PyMem_RawFree(operand.allocated)
    operand.allocated = NULL
    operand.kind = NUMBER
    operand.is_int = True
    operand.whole = whole
    operand.real = <double> whole
    return NEXT


cdef int _set_bool(Operand *operand, bint truth) noexcept nogil:
    _set_int(operand, truth)
    operand.kind = BOOL
    return NEXT


cdef int _set_digits(Machine *machine, Operand *operand) noexcept nogil:
    """Replace an int by its decimal text; unknown if there is no memory for it."""
    cdef uint8_t *digits = machine.scratch + machine.scratch_used
    if SCRATCH - machine.scratch_used < DIGITS:
        operand.allocated = digits = <uint8_t *> PyMem_RawMalloc(DIGITS)
        if digits == NULL:
            return IS_UNKNOWN
    operand.length = snprintf(<char *> digits, DIGITS, "%lld", <long long> operand.whole)
    if operand.allocated == NULL:
        machine.scratch_used += operand.length
    operand.kind = STRING
    operand.text = digits
    return NEXT


cdef int _cast(Machine *machine, uint8_t operation) noexcept nogil:
    """Replace a value by its int, string, bool, length or absolute value."""
    cdef Operand *operand
    cdef int64_t whole
    cdef double real
    cdef int truth
    if machine.depth < 1:
        return DAMAGED
    operand = &machine.operands[machine.depth - 1]
    if operation == LENGTH:
        if operand.kind != STRING:
            return IS_UNKNOWN
        return _set_int(operand, character_count(operand.text, operand.length))
    if operation == TIME_OF:
        if operand.kind != STRING or not read_time(operand.text, operand.length, &whole, &real):
            return IS_UNKNOWN
        _set_int(operand, whole)
        return NEXT if real == 0 or set_number(operand, real, 0) else IS_UNKNOWN
    if operation == ABS:
        if operand.kind != NUMBER:
            return IS_UNKNOWN
        if operand.is_int and operand.whole > INT64_MIN:
            return _set_int(operand, operand.whole if operand.whole >= 0 else -operand.whole)
        return NEXT if set_number(operand, fabs(operand.real), 0) else IS_UNKNOWN
    if operand.kind == NULL_VALUE or (operand.kind == NUMBER and not operand.is_int):
        return IS_UNKNOWN
    if operation == INT_OF:
        if operand.kind != STRING:
            return _set_int(operand, operand.whole)
        return _set_int(operand, whole) if read_int(operand.text, operand.length, &whole) else IS_UNKNOWN
    if operation == BOOL_OF:
        if operand.kind != STRING:
            return _set_bool(operand, operand.whole != 0)
        truth = read_bool(operand.text, operand.length)
        return IS_UNKNOWN if truth < 0 else _set_bool(operand, truth)
    if operand.kind == NUMBER:
        return _set_digits(machine, operand)
    if operand.kind == BOOL:
        operand.kind = STRING
        operand.text = _TRUE if operand.whole else _FALSE
        operand.length = 4 if operand.whole else 5
    return NEXT


cdef int _test(Machine *machine, uint8_t operation, Scope *scope) noexcept nogil:
    """Return the outcome of the test at the end of the code."""
    cdef const Operand *first = &machine.operands[0]
    cdef const uint8_t *text
    cdef uint32_t length
    if COMPARISON <= operation <= COMPARISON + OP_SUBSTRING:
        return _compare(operation - COMPARISON, first, first + 1) if machine.depth == 2 else DAMAGED
    if operation == MEMBER:
        return _find_member(&machine.reader, first) if machine.depth == 1 else DAMAGED
    if operation == IN_BLOCK:
        return _find_address(&machine.reader, first) if machine.depth == 1 else DAMAGED
    if operation == SEARCH:
        return _find_regex(&machine.reader, first, scope) if machine.depth == 1 else DAMAGED
    if not LIKE <= operation <= HAS_TAG or not read_text(&machine.reader, &text, &length):
        return DAMAGED
    if operation != LIKE:
        return _as_outcome(scope.has(scope.context, <const char *> text, length, operation == HAS_TAG))
    if machine.depth != 1:
        return DAMAGED
    return _as_outcome(is_like(first.text, first.length, text, length)) if first.kind == STRING else IS_UNKNOWN


cdef int _run(Machine *machine, Scope *scope) noexcept nogil:
    """Return the outcome of the test."""
    cdef uint8_t operation
    cdef int state = NEXT
    while state == NEXT:
        if machine.reader.at >= machine.reader.end:
            return DAMAGED
        operation = machine.reader.at[0]
        machine.reader.at += 1
        if operation <= STRING_CONSTANT:
            state = _push(machine, operation, scope)
        elif ADD <= operation <= REMAINDER:
            state = _calculate(machine, operation)
        elif operation == LOWER or operation == UPPER:
            state = _convert(machine, operation == UPPER)
        elif operation < COMPARISON or operation == TIME_OF:
            state = _cast(machine, operation)
        else:
            state = _test(machine, operation, scope)
    return state


cdef bint condition_holds(const uint8_t *code, Py_ssize_t length, Scope *scope) noexcept nogil:
    """Return whether the outcome of the condition is one that it accepts."""
    cdef Machine machine
    cdef int outcome
    if length < 1:
        return False
    machine.reader.at = code + 1
    machine.reader.end = code + length
    machine.depth = 0
    machine.scratch_used = 0
    outcome = _run(&machine, scope)
    while machine.depth:
        machine.depth -= 1
        PyMem_RawFree(machine.operands[machine.depth].allocated)
    return (code[0] & outcome) != 0


# --- plain messages --------------------------------------------------------------------------

cdef struct Member:
    const char *text        # name or tag
    Py_ssize_t length
    bint is_tag
    Attribute value

cdef struct Members:
    Member *first
    Py_ssize_t count


cdef const Member *_find(const Members *members, const char *text, Py_ssize_t length, bint is_tag) noexcept nogil:
    cdef Py_ssize_t place
    cdef const Member *member
    for place in range(members.count):
        member = members.first + place
        if member.is_tag == is_tag and member.length == length and memcmp(member.text, text, length) == 0:
            return member
    return NULL


cdef const Attribute *_bound_member(void *context, const char *name, Py_ssize_t length) noexcept nogil:
    cdef const Member *member = _find(<const Members *> context, name, length, False)
    if member == NULL:
        return NULL
    return &member.value


cdef bint _has_member(void *context, const char *text, Py_ssize_t length, bint is_tag) noexcept nogil:
    return _find(<const Members *> context, text, length, is_tag) != NULL


cdef int _append(Members *members, str text, bint is_tag, object value) except -1:
    cdef Member *member = members.first + members.count
    member.text = PyUnicode_AsUTF8AndSize(text, &member.length)
    member.is_tag = is_tag
    if not read_value(value, &member.value):
        raise ValueError(f"not a value: {value!r}")
    members.count += 1
    return 0


def evaluate(bytes code, dict values, tags=()):
    """Return whether a condition holds of a message with one value per attribute."""
    cdef Members members
    cdef Scope scope
    cdef const uint8_t *first = code
    cdef Py_ssize_t length = len(code)
    cdef bint holds
    kept = list(tags)
    members.count = 0
    members.first = <Member *> resized(NULL, (len(values) + len(kept) + 1) * sizeof(Member))
    scope.context = &members
    scope.bound = _bound_member
    scope.has = _has_member
    scope.work = INT64_MAX
    try:
        for name, value in values.items():
            _append(&members, name, False, value)
        for tag in kept:
            _append(&members, tag, True, True)
        with nogil:
            holds = condition_holds(first, length, &scope)
        return holds
    finally:
        PyMem_RawFree(members.first)

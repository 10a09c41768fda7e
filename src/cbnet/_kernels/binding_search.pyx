"""Search for a binding that satisfies a filter; `binding_search.pxd` draws it."""

from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree
from cpython.object cimport PyObject
from libc.stdint cimport INT64_MAX, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp

from cbnet._kernels.condition_codes cimport ATTRIBUTE
from cbnet._kernels.condition_eval cimport Mention, Scope, condition_holds, next_mention
from cbnet._kernels.constant_pool cimport number_place, text_at, text_place
from cbnet._kernels.memory cimport enlarge
from cbnet._kernels.message_encoding cimport NUMBER, STRING, TAG, Attribute, compatible
from cbnet._kernels.symbol_table cimport SymbolTable, find_symbol, symbol_text
from cbnet._kernels.tag_sets cimport owned_by
from cbnet._kernels.target_set cimport TargetSet, has_target
from cbnet._kernels.test_codes cimport *
from cbnet._kernels.word_test cimport Constants, Leaves, passes

cdef enum:
    SMALL = 16             # combinations that a search may have at no cost
    STEPS = 20             # of patterns that take as long as to examine a candidate
    ASKED = 64             # targets of a filter that are asked for their credit
    ASKING = 16            # candidates that take as long as to ask for a credit


cdef void open_search(BindingSearch *search) noexcept nogil:
    search.variables = NULL
    search.candidates = NULL
    search.variable_room = search.candidate_room = 0
    search.undecided = NULL
    search.undecided_count = search.undecided_room = 0
    search.credit = NULL
    search.groups = NULL
    search.owner = 0
    search.work = INT64_MAX
    search.is_out_of_memory = search.is_undecided = False


cdef void close_search(BindingSearch *search) noexcept nogil:
    PyMem_RawFree(search.variables)
    PyMem_RawFree(search.candidates)
    PyMem_RawFree(search.undecided)


cdef int64_t _present(const Leaves *leaves, const char *name, Py_ssize_t length) noexcept nogil:
    """Return the symbol of an attribute that the message has, or -1."""
    cdef int64_t symbol = find_symbol(leaves.symbols, name, length, False)
    if symbol < 0 or symbol == leaves.message_symbol or leaves.slots[symbol] == 0:
        return -1
    return symbol


cdef const Attribute *_bound(void *context, const char *name, Py_ssize_t length) noexcept nogil:
    cdef const Leaves *leaves = <const Leaves *> context
    cdef int64_t symbol = _present(leaves, name, length)
    if symbol < 0:
        return NULL
    return leaves.attributes + leaves.slots[symbol] - 1


cdef bint _has(void *context, const char *text, Py_ssize_t length, bint is_tag) noexcept nogil:
    cdef const Leaves *leaves = <const Leaves *> context
    cdef int64_t symbol = find_symbol(leaves.symbols, text, length, is_tag)
    return symbol >= 0 and leaves.slots[symbol] != 0


cdef bint _condition_passes(const Constants *constants, Leaves *leaves, BindingSearch *search, uint32_t number) noexcept nogil:
    """Return whether a condition holds of the values that `leaves.slots` refer to; False if it is undecided."""
    cdef Scope scope
    cdef uint32_t length
    cdef const char *code = text_at(&constants.conditions, number, &length)
    scope.context = leaves
    scope.bound = _bound
    scope.has = _has
    scope.work = search.work
    if condition_holds(<const uint8_t *> code, length, &scope) and scope.work >= 0:
        search.work = scope.work
        return True
    search.work = max(0, scope.work)
    return scope.work < 0 and _passes_at_cost(<const uint8_t *> code, length, &scope, search)


cdef bint condition_decided(const Constants *constants, Leaves *leaves, BindingSearch *search, uint32_t number) noexcept nogil:
    """Return whether a condition of a message of single values holds; note the filter if that is undecided."""
    cdef bint is_met = _condition_passes(constants, leaves, search, number)
    if search.is_undecided:
        note_undecided(search)
    return is_met


cdef bint _passes_at_cost(const uint8_t *code, uint32_t length, Scope *scope, BindingSearch *search) noexcept nogil:
    """Return whether a condition holds whose patterns take more steps than are free."""
    cdef int64_t limit = _credit(search) if search.credit != NULL else 0
    cdef bint holds
    scope.work = STEPS * (limit - ASKING)
    if scope.work <= 0:
        search.is_undecided = True
        return False
    holds = condition_holds(code, length, scope)
    search.is_undecided |= scope.work < 0
    _charge(search, limit - max(0, scope.work) // STEPS)
    return holds and scope.work >= 0


cdef bint _mention(const Constants *constants, Leaves *leaves, BindingSearch *search, uint32_t number) noexcept nogil:
    """Add the attributes of a condition that no word constrains; return False if out of memory."""
    cdef uint32_t length
    cdef const char *code = text_at(&constants.conditions, number, &length)
    cdef Mention mention
    cdef int64_t symbol
    cdef Py_ssize_t at = next_mention(<const uint8_t *> code, length, 1, &mention)
    while at:
        if mention.operation == ATTRIBUTE:
            symbol = _present(leaves, mention.text, mention.length)
            if symbol >= 0 and _variable(search, <uint32_t> symbol) == NULL:
                if not _add(constants, leaves, search, <uint32_t> symbol, EXISTS, 0):
                    return False
        at = next_mention(<const uint8_t *> code, length, at, &mention)
    return True


cdef Variable *_variable(BindingSearch *search, uint32_t symbol) noexcept nogil:
    cdef uint32_t i
    for i in range(search.variable_count):
        if search.variables[i].symbol == symbol:
            return &search.variables[i]
    return NULL


cdef bint _has_room(BindingSearch *search) noexcept nogil:
    """Make room for one more variable and candidate."""
    if search.variable_count == search.variable_room and not enlarge(
            <void **> &search.variables, &search.variable_room, sizeof(Variable)):
        search.is_out_of_memory = True
    elif search.candidate_count == search.candidate_room and not enlarge(
            <void **> &search.candidates, &search.candidate_room, sizeof(uint32_t)):
        search.is_out_of_memory = True
    return not search.is_out_of_memory


cdef bint _add(const Constants *constants, Leaves *leaves, BindingSearch *search, uint32_t symbol, uint32_t test,
               uint32_t operand) noexcept nogil:
    """Add a variable whose candidates pass a test; return whether there is one."""
    cdef Variable *variable
    cdef uint32_t leaf = leaves.slots[symbol]
    if not _has_room(search):
        return False
    variable = &search.variables[search.variable_count]
    variable.symbol = symbol
    variable.slot = leaf
    variable.first = search.candidate_count
    while leaf:
        leaf -= 1
        if passes(constants, leaves.attributes + leaf, leaves.places[leaf], test, operand):
            if not _has_room(search):
                return False
            search.candidates[search.candidate_count] = leaf
            search.candidate_count += 1
        leaf = leaves.following[leaf]
    variable.count = search.candidate_count - variable.first
    search.variable_count += 1
    return variable.count > 0


cdef bint _constrain(const Constants *constants, Leaves *leaves, BindingSearch *search, uint64_t word) noexcept nogil:
    """Keep the candidates that pass a word; return whether one is left."""
    cdef uint32_t symbol = <uint32_t> (word >> 38)
    cdef uint32_t test = (word >> 32) & 63
    cdef uint32_t operand = <uint32_t> word
    cdef Variable *variable
    cdef uint32_t i, leaf
    cdef uint32_t kept = 0
    if symbol >= leaves.symbols.count or leaves.slots[symbol] == 0:
        return False
    if test == IS_TAG or test == CONDITION or symbol == leaves.message_symbol:
        return True
    variable = _variable(search, symbol)
    if variable == NULL:
        return _add(constants, leaves, search, symbol, test, operand)
    for i in range(variable.first, variable.first + variable.count):
        leaf = search.candidates[i]
        if passes(constants, leaves.attributes + leaf, leaves.places[leaf], test, operand):
            search.candidates[variable.first + kept] = leaf
            kept += 1
    variable.count = kept
    return kept > 0


cdef bint has_several_values(Leaves *leaves, uint32_t count) noexcept nogil:
    """Return whether a nested message has several values of an attribute, or elements. The slots are free."""
    cdef const Attribute *attribute
    cdef bint has_several = False
    cdef uint32_t i
    leaves.has_elements = False
    for i in range(count):
        attribute = leaves.attributes + i
        if attribute.symbol < leaves.symbols.count and attribute.kind != TAG:
            leaves.has_elements |= attribute.element != 0
            has_several |= attribute.element != 0 or leaves.slots[attribute.symbol] != 0
            leaves.slots[attribute.symbol] = 1
    leave_leaves(leaves, count)
    return has_several


cdef bint reserve_leaves(Leaves *leaves, uint32_t *room, Py_ssize_t count) noexcept nogil:
    """Make room for the attributes of a message; return False if out of memory."""
    if <Py_ssize_t> room[0] < count or leaves.places == NULL:
        PyMem_RawFree(leaves.places)
        room[0] = 0
        leaves.places = <uint32_t *> PyMem_RawCalloc(2 * (count + 16), sizeof(uint32_t))
        if leaves.places == NULL:
            return False
        leaves.following = leaves.places + count + 16
        room[0] = <uint32_t> count + 16
    return True


cdef void leave_leaves(Leaves *leaves, uint32_t count) noexcept nogil:
    """Free the slots of a message."""
    cdef uint32_t i
    if leaves.message_symbol < leaves.symbols.count:
        leaves.slots[leaves.message_symbol] = 0
    for i in range(count):
        if leaves.attributes[i].symbol < leaves.symbols.count:
            leaves.slots[leaves.attributes[i].symbol] = 0


cdef void enter_leaves(const Constants *constants, Leaves *leaves, uint32_t count) noexcept nogil:
    """Set slots, places and followers of the attributes of a message."""
    cdef const Attribute *attribute
    cdef uint32_t i, at
    for i in range(count):
        at = count - 1 - i  # from the last on, so that they follow each other in order
        attribute = leaves.attributes + at
        leaves.places[at] = 0
        if attribute.symbol >= leaves.symbols.count:
            continue
        leaves.following[at] = leaves.slots[attribute.symbol]
        leaves.slots[attribute.symbol] = at + 1
        if attribute.kind == NUMBER:
            leaves.places[at] = number_place(&constants.numbers, attribute.high, attribute.low)
        elif attribute.kind == STRING:
            leaves.places[at] = text_place(&constants.strings, attribute.text, attribute.length)


cdef bint binding_exists(const Constants *constants, Leaves *leaves, BindingSearch *search, const uint64_t *pivot,
                         const uint64_t *words, uint32_t count) noexcept nogil:
    """Return whether a binding satisfies the pivot, if given, the other words and the conditions among them."""
    cdef uint32_t i
    cdef bint has_conditions = False
    cdef bint has_elements = False
    for i in range(count):
        has_conditions |= (words[i] >> 32) & 63 == CONDITION
    if not has_conditions and not leaves.has_elements:
        return _bags_pass(constants, leaves, pivot, words, count)
    search.variable_count = search.candidate_count = 0
    if pivot != NULL and not _constrain(constants, leaves, search, pivot[0]):
        return False
    for i in range(count):
        if not _constrain(constants, leaves, search, words[i]):
            return False
    for i in range(count):
        if (words[i] >> 32) & 63 == CONDITION and not _mention(constants, leaves, search, <uint32_t> words[i]):
            return False
    for i in range(search.variable_count):
        has_elements |= leaves.attributes[search.candidates[search.variables[i].first]].element != 0
    if not has_conditions and not has_elements:
        return True
    _sort(search, leaves.symbols)
    return _search(constants, leaves, search, words, count)


cdef bint _bags_pass(const Constants *constants, const Leaves *leaves, const uint64_t *pivot, const uint64_t *words,
                     uint32_t count) noexcept nogil:
    """Return whether each attribute has a value that passes all its words. Values outside elements are compatible."""
    cdef uint32_t i, j
    if pivot != NULL and not _one_passes(constants, leaves, pivot[0], words, count):
        return False
    for i in range(count):
        if pivot != NULL and pivot[0] >> 38 == words[i] >> 38:
            continue
        j = 0
        while words[j] >> 38 != words[i] >> 38:
            j += 1
        if j == i and not _one_passes(constants, leaves, words[i], words + i, count - i):  # the first of its symbol
            return False
    return True


cdef bint _one_passes(const Constants *constants, const Leaves *leaves, uint64_t first, const uint64_t *words,
                      uint32_t count) noexcept nogil:
    """Return whether a value passes a word, and all those of the same symbol among others."""
    cdef uint32_t symbol = <uint32_t> (first >> 38)
    cdef uint32_t i, leaf
    if symbol >= leaves.symbols.count:
        return False
    leaf = leaves.slots[symbol]
    if (first >> 32) & 63 == IS_TAG or symbol == leaves.message_symbol:
        return leaf != 0
    while leaf:
        leaf -= 1
        if _passes_word(constants, leaves, leaf, first):
            i = 0
            while i < count and (words[i] >> 38 != symbol or _passes_word(constants, leaves, leaf, words[i])):
                i += 1
            if i == count:
                return True
        leaf = leaves.following[leaf]
    return False


cdef inline bint _passes_word(const Constants *constants, const Leaves *leaves, uint32_t leaf, uint64_t word) noexcept nogil:
    return passes(constants, leaves.attributes + leaf, leaves.places[leaf], (word >> 32) & 63, <uint32_t> word)


cdef void _sort(BindingSearch *search, const SymbolTable *symbols) noexcept nogil:
    """Sort the variables, few, by the number of their candidates, and then by name."""
    cdef Variable variable
    cdef uint32_t i, j
    for i in range(1, search.variable_count):
        variable = search.variables[i]
        j = i
        while j > 0 and _is_before(symbols, &variable, &search.variables[j - 1]):
            search.variables[j] = search.variables[j - 1]
            j -= 1
        search.variables[j] = variable


cdef bint _is_before(const SymbolTable *symbols, const Variable *one, const Variable *other) noexcept nogil:
    cdef uint32_t first, second
    cdef const char *left
    cdef const char *right
    cdef int difference
    if one.count != other.count:
        return one.count < other.count
    left = symbol_text(symbols, one.symbol, &first)
    right = symbol_text(symbols, other.symbol, &second)
    difference = memcmp(left, right, min(first, second))
    return difference < 0 or (difference == 0 and first < second)


cdef bint _search(const Constants *constants, Leaves *leaves, BindingSearch *search, const uint64_t *words,
                  uint32_t count) noexcept nogil:
    """Bind one variable after the other, each to its first candidate that is compatible; go back on failure."""
    cdef uint32_t depth = 0
    cdef uint32_t examined = 0
    cdef int64_t limit = _limit(search)
    cdef bint is_found = False
    cdef Variable *variable
    if search.variable_count:
        search.variables[0].bound = 0
    while True:
        if depth == search.variable_count:
            is_found = _conditions_pass(constants, leaves, search, words, count)
            if is_found or search.is_undecided:
                break
        else:
            variable = &search.variables[depth]
            if variable.bound < variable.count:
                if examined >= limit:
                    search.is_undecided = True
                    break
                examined += 1
                if _is_compatible(leaves, search, depth):
                    leaves.slots[variable.symbol] = search.candidates[variable.first + variable.bound] + 1
                    depth += 1
                    if depth < search.variable_count:
                        search.variables[depth].bound = 0
                else:
                    variable.bound += 1
                continue
        if depth == 0:
            break
        depth -= 1
        search.variables[depth].bound += 1
    for depth in range(search.variable_count):
        leaves.slots[search.variables[depth].symbol] = search.variables[depth].slot
    if search.credit != NULL and examined > SMALL:
        search.free -= examined
        if search.free < 0:
            _charge(search, -search.free)
            search.free = 0
    return is_found


cdef int64_t _limit(const BindingSearch *search) noexcept nogil:
    """Return how many candidates the present search may examine."""
    cdef double combinations = 1
    cdef uint32_t i
    if search.credit == NULL:
        return MAX_EXAMINED
    for i in range(search.variable_count):
        combinations *= search.variables[i].count
    if combinations <= SMALL or combinations * search.variable_count <= search.free:
        return MAX_EXAMINED
    return min(MAX_EXAMINED, search.free + _credit(search))


cdef int64_t _credit(const BindingSearch *search) noexcept with gil:
    cdef uint32_t payer
    return _largest_credit(search, &payer)


cdef void _charge(const BindingSearch *search, int64_t examined) noexcept with gil:
    cdef uint32_t payer
    _largest_credit(search, &payer)
    (<object> search.credit).charge(payer, examined)


cdef int64_t _largest_credit(const BindingSearch *search, uint32_t *payer) noexcept:
    """Return the largest credit of the targets of the present filter, and whose it is: nobody can use up that of others."""
    cdef uint32_t count, place
    cdef const uint32_t *targets = _targets(search, &count)
    cdef int64_t limit, largest = -1
    payer[0] = targets[0] if count else 0
    try:
        for place in range(min(count, ASKED)):
            limit = (<object> search.credit).limit(targets[place])
            if limit > largest:
                largest, payer[0] = limit, targets[place]
    except Exception:
        pass
    return max(0, largest)


cdef inline const uint32_t *_targets(const BindingSearch *search, uint32_t *count) noexcept nogil:
    """Return the targets of the present filter, and their number."""
    count[0] = 1
    return &search.owner if search.groups == NULL else owned_by(search.groups, &search.owner, count)


cdef void note_undecided(BindingSearch *search) noexcept nogil:
    """Note that the search for the present filter was given up."""
    cdef uint32_t count, place
    cdef const uint32_t *targets = _targets(search, &count)
    search.is_undecided = False
    for place in range(count):
        if search.undecided_count == search.undecided_room and not enlarge(
                <void **> &search.undecided, &search.undecided_room, sizeof(uint32_t)):
            search.is_out_of_memory = True
            return
        search.undecided[search.undecided_count] = targets[place]
        search.undecided_count += 1


cdef list take_undecided(BindingSearch *search, const TargetSet *targets):
    """Return the targets whose searches were given up, each once, without those matched by another filter; forget them."""
    cdef uint32_t i
    found = sorted({search.undecided[i] for i in range(search.undecided_count)
                    if search.undecided[i] < targets.total and not has_target(targets, search.undecided[i])})
    search.undecided_count = 0
    return found


cdef bint _is_compatible(const Leaves *leaves, const BindingSearch *search, uint32_t depth) noexcept nogil:
    """Return whether the candidate of a variable is compatible with the bound values before it."""
    cdef const Variable *variable = &search.variables[depth]
    cdef uint32_t element = leaves.attributes[search.candidates[variable.first + variable.bound]].element
    cdef uint32_t i
    if element:
        for i in range(depth):
            variable = &search.variables[i]
            if not compatible(leaves.elements, element,
                              leaves.attributes[search.candidates[variable.first + variable.bound]].element):
                return False
    return True


cdef bint _conditions_pass(const Constants *constants, Leaves *leaves, BindingSearch *search, const uint64_t *words,
                           uint32_t count) noexcept nogil:
    cdef uint32_t i
    for i in range(count):
        if (words[i] >> 32) & 63 == CONDITION and not _condition_passes(constants, leaves, search, <uint32_t> words[i]):
            return False
    return True

"""The tag sets of generated users: a Pitman–Yor process over a common law (see `pipeline/population/user_model`).

A user's sets are drawn one after another; the history is the output itself:

    tags     3 7 | 3 | 3 7 90 | …          every draw of this user so far, set by set, ascending in each
    is_first 1 1   0   0 0 1               drawn from the common law, not from the history
    owners   0 0   1   2 2 2               the set of each draw

Invariant: one draw of each table is its first. So a draw chosen with equal probability, and refused with the
probability `discount` if it is a first one, has the weights (count - discount) of the process.

Random numbers are those of `counter_random`: words of (seed, stream, user, 0), (seed, stream, user, 1), … in order.
"""

from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from libc.math cimport pow
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

cdef enum:
    ROUNDS = 10
    TRIES = 16      # for a tag that the set does not have yet; then the set stays smaller
    OLD_TRIES = 8   # of them from the history: a user may have too few tags

cdef extern from *:
    """
    #define NEAREST 8.0    /* neighbours of a tag that half of the steps to one lead to */
    #define BAND 0.1       /* largest distance of a neighbour, as a share of all draws */
    """
    const double NEAREST
    const double BAND


cdef struct Random:
    uint32_t key[2]
    uint32_t row[2]
    uint32_t slot
    uint32_t stream
    uint32_t words[4]
    int used


cdef struct Law:
    double head, power, rest, last           # ranks: see `_rank`
    double discount, concentration, cohesion
    int64_t limit


cdef struct History:
    int32_t *tags
    uint8_t *is_first
    int64_t *owners
    int64_t start, end   # of the user
    int64_t tables       # of the user


cdef void _philox(Random *random) noexcept nogil:
    cdef uint32_t a = random.row[0], b = random.row[1], c = random.slot, d = random.stream
    cdef uint32_t first = random.key[0], second = random.key[1]
    cdef uint64_t left, right
    cdef int round
    for round in range(ROUNDS):
        left = <uint64_t> a * 0xD2511F53u
        right = <uint64_t> c * 0xCD9E8D57u
        a = <uint32_t> (right >> 32) ^ b ^ first
        b = <uint32_t> right
        c = <uint32_t> (left >> 32) ^ d ^ second
        d = <uint32_t> left
        first += 0x9E3779B9u
        second += 0xBB67AE85u
    random.words[0] = a
    random.words[1] = b
    random.words[2] = c
    random.words[3] = d


cdef inline uint32_t _word(Random *random) noexcept nogil:
    if random.used == 4:
        _philox(random)
        random.slot += 1
        random.used = 0
    random.used += 1
    return random.words[random.used - 1]


cdef inline double _unit(Random *random) noexcept nogil:
    return _word(random) * 2.0 ** -32


cdef inline double _wide(uint32_t high, uint32_t low) noexcept nogil:
    return ((<uint64_t> high << 21) | (low >> 11)) * 2.0 ** -53


cdef inline double _wide_unit(Random *random) noexcept nogil:
    cdef uint32_t high = _word(random)
    return _wide(high, _word(random))


cdef inline int32_t _rank(const Law *law, double unit) noexcept nogil:
    """Return the rank below which the share `unit` of the law lies."""
    cdef double rank = law.head * (pow(1 - unit * (1 - law.rest), -law.power) - 1)
    return <int32_t> (rank if rank < law.last else law.last)


cdef int32_t _neighbour(const Law *law, Random *random, Random *common, int32_t tag) noexcept nogil:
    """Return a tag that occurs together with `tag`, for all users alike: the k-th neighbour is a function of k."""
    cdef double unit = _unit(random), number = NEAREST * unit / (1 - unit)
    common.row[0] = <uint32_t> tag
    common.row[1] = 0
    common.slot = <uint32_t> number if number < 4294967295.0 else 4294967295u
    _philox(common)
    unit = (1 - pow((tag + 0.5 + law.head) / law.head, -1 / law.power)) / (1 - law.rest)
    unit += BAND * (2 * _wide(common.words[0], common.words[1]) - 1)
    if unit < 0:  # reflected: all tags keep their shares
        unit = -unit
    if unit > 1:
        unit = 2 - unit
    return _rank(law, unit)


cdef inline int64_t _earlier(const Law *law, Random *random, const History *history) noexcept nogil:
    """Return a draw of the user, by the weights of the process."""
    cdef int64_t draw
    while True:
        draw = history.start + <int64_t> (_unit(random) * (history.end - history.start))
        if not history.is_first[draw] or _unit(random) >= law.discount:
            return draw


cdef inline bint _has(const int32_t *tags, int64_t start, int64_t end, int32_t tag) noexcept nogil:
    cdef int64_t at
    for at in range(start, end):
        if tags[at] == tag:
            return True
    return False


cdef inline int64_t _set_size(Random *random, double one_tag, const double *sizes, int64_t count) noexcept nogil:
    """Return 1 with the user's probability; else 2 or more, by the cumulative shares of these sizes."""
    cdef int64_t size = 0
    cdef double unit
    if _unit(random) < one_tag:
        return 1
    unit = _unit(random)
    while size < count - 1 and unit >= sizes[size]:
        size += 1
    return size + 2


cdef void _draw_set(
    const Law *law, Random *random, Random *common, History *history, const int64_t *offsets, int64_t row, int64_t size
) noexcept nogil:
    cdef int64_t start = history.end, draws, draw = 0, origin = -1
    cdef int32_t tag
    cdef bint is_new = False, goes_on
    cdef int number, tries
    for number in range(size):
        goes_on = number > 0 and _unit(random) < law.cohesion
        draws = history.end - history.start
        if not goes_on:
            is_new = draws == 0 or (
                _unit(random) * (law.concentration + draws) < law.concentration + law.discount * history.tables
            )
        is_new = is_new and history.tables < law.limit
        for tries in range(TRIES):
            draw = -1
            if is_new and goes_on:
                draw = start + <int64_t> (_unit(random) * (history.end - start))
                tag = _neighbour(law, random, common, history.tags[draw])
            elif is_new:
                tag = _rank(law, _wide_unit(random))
            elif goes_on and origin >= 0:
                draw = offsets[origin] + <int64_t> (_unit(random) * (offsets[origin + 1] - offsets[origin]))
                tag = history.tags[draw]
            else:
                draw = _earlier(law, random, history)
                tag = history.tags[draw]
            if not _has(history.tags, start, history.end, tag):
                history.tags[history.end] = tag
                history.is_first[history.end] = is_new
                history.owners[history.end] = row
                history.tables += is_new
                history.end += 1
                origin = -1 if is_new else history.owners[draw]
                break
            goes_on = False
            is_new = is_new or (tries >= OLD_TRIES and history.tables < law.limit)


cdef void _sort(int32_t *tags, uint8_t *is_first, int64_t start, int64_t end) noexcept nogil:
    cdef int64_t at, to
    cdef int32_t tag
    cdef uint8_t first
    for at in range(start + 1, end):
        tag, first, to = tags[at], is_first[at], at
        while to > start and tags[to - 1] > tag:
            tags[to] = tags[to - 1]
            is_first[to] = is_first[to - 1]
            to -= 1
        tags[to] = tag
        is_first[to] = first


def draw_users(
    uint64_t seed, uint32_t stream, uint32_t common_stream, const uint64_t[::1] users, const int64_t[::1] counts,
    const double[::1] one_tag, const double[::1] sizes, const double[::1] law, int64_t limit, int64_t last,
    int64_t[::1] offsets, int32_t[::1] tags,
):
    """Write the sets of users: offsets, int64[sets + 1], and tags by rank, ascending in each set.

    counts, one_tag: sets of each user, and its share of one-tag sets. sizes: cumulative shares of the sizes 2, 3, …
    law: growth, head, discount, concentration, cohesion. limit: tags of a user. last: the largest rank.
    """
    cdef double growth = law[0]
    cdef Law rules = Law(
        head=law[1], power=growth / (1 - growth), last=last, discount=law[2], concentration=law[3], cohesion=law[4],
        limit=limit, rest=pow((last + 1 + law[1]) / law[1], 1 - 1 / growth),
    )
    cdef Random random, common
    cdef History history
    cdef int64_t user, number, start, row = 0, room = tags.shape[0]
    random.key[0], random.key[1] = <uint32_t> seed, <uint32_t> (seed >> 32)
    random.stream = stream
    common = random
    common.stream = common_stream
    if not users.shape[0] or not room:
        return
    history.tags = &tags[0]
    history.is_first = <uint8_t *> PyMem_RawMalloc(room)
    history.owners = <int64_t *> PyMem_RawMalloc(room * sizeof(int64_t))
    if history.is_first == NULL or history.owners == NULL:
        PyMem_RawFree(history.is_first)
        PyMem_RawFree(history.owners)
        raise MemoryError
    history.end = 0
    offsets[0] = 0
    with nogil:
        for user in range(users.shape[0]):
            random.row[0], random.row[1] = <uint32_t> users[user], <uint32_t> (users[user] >> 32)
            random.slot, random.used = 0, 4
            history.start, history.tables = history.end, 0
            for number in range(counts[user]):
                start = history.end
                _draw_set(
                    &rules, &random, &common, &history, &offsets[0], row,
                    _set_size(&random, one_tag[user], &sizes[0], sizes.shape[0]),
                )
                _sort(history.tags, history.is_first, start, history.end)
                row += 1
                offsets[row] = history.end
    PyMem_RawFree(history.is_first)
    PyMem_RawFree(history.owners)

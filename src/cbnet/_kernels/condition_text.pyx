"""String functions of conditions, on UTF-8: `like`, `lower`, `upper`, `length`, the ints and bools of texts, IP addresses.

Texts are never NULL. Bytes that are not valid UTF-8 keep their case, and give no read or write outside the text. IP
addresses are those that `language.address_block` reads.

`like` splits the pattern at `%` into segments. The first stands at the start of the text, the last at its end, and each
of the others at the first place where it fits: a later place leaves less text to the segments after it, because a segment
has a fixed number of characters. So no choice is ever undone.

    pattern   a b % c _ d % e       text   a b x c c z d y e
              └─┘   └───┘   └                └─┘   └───┘   └
"""

from libc.stdint cimport uint32_t
from libc.string cimport memchr, memcmp, memcpy

from cbnet._kernels.byte_strings cimport find_bytes
from cbnet._kernels.intrinsics cimport add_overflows, multiply_overflows

cdef extern from "Python.h" nogil:
    # Lookups in constant tables, which need no GIL.
    uint32_t Py_UNICODE_TOLOWER(uint32_t character)
    uint32_t Py_UNICODE_TOUPPER(uint32_t character)

cdef enum:
    LONG_LOWER = 0x130      # the only character with a lower case of several characters
    LONG_UPPERS = 27

# Characters whose upper case has several characters, from first to last. Python has no call for them without the GIL.
cdef uint32_t[2 * LONG_UPPERS] _long_uppers
_long_uppers[:] = [
    0xDF, 0xDF, 0x149, 0x149, 0x1F0, 0x1F0, 0x390, 0x390, 0x3B0, 0x3B0, 0x587, 0x587, 0x1E96, 0x1E9A,
    0x1F50, 0x1F50, 0x1F52, 0x1F52, 0x1F54, 0x1F54, 0x1F56, 0x1F56, 0x1F80, 0x1FAF, 0x1FB2, 0x1FB4,
    0x1FB6, 0x1FB7, 0x1FBC, 0x1FBC, 0x1FC2, 0x1FC4, 0x1FC6, 0x1FC7, 0x1FCC, 0x1FCC, 0x1FD2, 0x1FD3,
    0x1FD6, 0x1FD7, 0x1FE2, 0x1FE4, 0x1FE6, 0x1FE7, 0x1FF2, 0x1FF4, 0x1FF6, 0x1FF7, 0x1FFC, 0x1FFC,
    0xFB00, 0xFB06, 0xFB13, 0xFB17,
]


# --- lower and upper -------------------------------------------------------------------------

cdef inline bint _is_tail(uint8_t byte) noexcept nogil:
    return byte & 0xC0 == 0x80


cdef uint32_t decode(const uint8_t *text, Py_ssize_t length, int *width) noexcept nogil:
    """Return the first character and its width in bytes; INVALID, of one byte, where there is none."""
    width[0] = 1
    if text[0] < 0x80:
        return text[0]
    if text[0] & 0xE0 == 0xC0 and length >= 2 and _is_tail(text[1]):
        width[0] = 2
        return (text[0] & 0x1F) << 6 | (text[1] & 0x3F)
    if length < 3 or not _is_tail(text[1]) or not _is_tail(text[2]):
        return INVALID
    if text[0] & 0xF0 == 0xE0:
        width[0] = 3
        return (text[0] & 0x0F) << 12 | (text[1] & 0x3F) << 6 | (text[2] & 0x3F)
    if text[0] & 0xF8 == 0xF0 and length >= 4 and _is_tail(text[3]):
        width[0] = 4
        return (text[0] & 0x07) << 18 | (text[1] & 0x3F) << 12 | (text[2] & 0x3F) << 6 | (text[3] & 0x3F)
    return INVALID


cdef inline int _width(uint32_t character) noexcept nogil:
    return 1 + (character >= 0x80) + (character >= 0x800) + (character >= 0x10000)


cdef void _encode(uint32_t character, int width, uint8_t *text) noexcept nogil:
    """Write a character that is not ASCII in `width` bytes."""
    cdef int place
    for place in range(width - 1, 0, -1):
        text[place] = 0x80 | (character & 0x3F)
        character >>= 6
    text[0] = <uint8_t> (0xF00 >> width | character) if width > 1 else <uint8_t> character


cdef bint _has_long_upper(uint32_t character) noexcept nogil:
    cdef int place
    for place in range(LONG_UPPERS):
        if character <= _long_uppers[2 * place + 1]:
            return character >= _long_uppers[2 * place]
    return False


cdef inline uint32_t _other_case(uint32_t character, bint to_upper) noexcept nogil:
    """Return the upper or lower case of a character, or itself if that is not one character."""
    if to_upper:
        return character if _has_long_upper(character) else Py_UNICODE_TOUPPER(character)
    return character if character == LONG_LOWER else Py_UNICODE_TOLOWER(character)


cdef Py_ssize_t change_case(const uint8_t *text, Py_ssize_t length, bint to_upper, uint8_t *changed) noexcept nogil:
    """Write the text with every character in upper or lower case; return its length."""
    cdef uint8_t first = c'a' if to_upper else c'A'
    cdef Py_ssize_t at = 0
    cdef Py_ssize_t written = 0
    cdef uint32_t character
    cdef int width, new_width
    while at < length:
        if text[at] < 0x80:
            changed[written] = text[at] ^ (0x20 if <uint8_t> (text[at] - first) < 26 else 0)
            at += 1
            written += 1
            continue
        character = decode(text + at, length - at, &width)
        new_width = width
        if character <= 0x10FFFF:
            character = _other_case(character, to_upper)
            new_width = _width(character)
        if character > 0x10FFFF or new_width > width + (width > 1):  # never longer than changed_room
            changed[written] = text[at]
            at += 1
            written += 1
            continue
        _encode(character, new_width, changed + written)
        at += width
        written += new_width
    return written


# --- length, ints and bools ------------------------------------------------------------------

cdef Py_ssize_t character_count(const uint8_t *text, Py_ssize_t length) noexcept nogil:
    cdef Py_ssize_t at
    cdef Py_ssize_t count = 0
    for at in range(length):
        count += not _is_tail(text[at])
    return count


cdef bint read_int(const uint8_t *text, Py_ssize_t length, int64_t *number) noexcept nogil:
    """Read an optional sign and digits; return False if the text is something else, or beyond 64 bits."""
    cdef bint is_negative = length > 0 and text[0] == c'-'
    cdef Py_ssize_t at = is_negative or (length > 0 and text[0] == c'+')
    cdef int64_t digit
    if at == length:
        return False
    number[0] = 0
    while at < length:
        digit = <int64_t> text[at] - c'0'
        if not 0 <= digit <= 9 or multiply_overflows(number[0], 10, number):
            return False
        if add_overflows(number[0], -digit if is_negative else digit, number):
            return False
        at += 1
    return True


cdef int read_bool(const uint8_t *text, Py_ssize_t length) noexcept nogil:
    """Return the bool of `true` or `false` in any case, -1 of other texts."""
    if length == 4 and _is_word(text, b"true", 4):
        return 1
    return 0 if length == 5 and _is_word(text, b"false", 5) else -1


cdef inline bint _is_word(const uint8_t *text, const char *word, Py_ssize_t length) noexcept nogil:
    """Return whether a text is an ASCII word, in any case."""
    cdef Py_ssize_t at
    for at in range(length):
        if text[at] | 0x20 != <uint8_t> word[at]:
            return False
    return True


# --- like ------------------------------------------------------------------------------------

cdef inline const uint8_t *_next_character(const uint8_t *text, const uint8_t *end) noexcept nogil:
    text += 1
    while text < end and _is_tail(text[0]):
        text += 1
    return text


cdef const uint8_t *_match_segment(const uint8_t *text, const uint8_t *end, const uint8_t *segment,
                                   const uint8_t *segment_end) noexcept nogil:
    """Return the end of a segment that stands at the start of the text, or NULL."""
    while segment < segment_end:
        if text >= end:
            return NULL
        if segment[0] == ANY_CHARACTER:
            text = _next_character(text, end)
        elif segment[0] == text[0]:
            text += 1
        else:
            return NULL
        segment += 1
    return text


cdef const uint8_t *_find_segment(const uint8_t *text, const uint8_t *end, const uint8_t *segment,
                                  const uint8_t *segment_end) noexcept nogil:
    """Return the end of a segment where it first occurs in the text, or NULL."""
    cdef const uint8_t *found
    cdef const uint8_t *wild = <const uint8_t *> memchr(segment, ANY_CHARACTER, segment_end - segment)
    cdef Py_ssize_t literal = (segment_end if wild == NULL else wild) - segment
    while True:
        if literal:
            text = <const uint8_t *> find_bytes(text, end - text, segment, literal)
            if text == NULL:
                return NULL
        found = _match_segment(text + literal, end, segment + literal, segment_end)
        if found != NULL or text >= end:
            return found
        text = _next_character(text, end)


cdef const uint8_t *_last_place(const uint8_t *text, const uint8_t *end, const uint8_t *segment,
                                const uint8_t *segment_end) noexcept nogil:
    """Return the place as many characters before the end as the segment has, or NULL."""
    while segment < segment_end:
        if end <= text:
            return NULL
        end -= 1
        while end > text and _is_tail(end[0]):
            end -= 1
        segment = _next_character(segment, segment_end)
    return end


cdef bint is_like(const uint8_t *text, Py_ssize_t length, const uint8_t *pattern, Py_ssize_t pattern_length) noexcept nogil:
    """Return whether the whole text matches a compiled pattern."""
    cdef const uint8_t *end = text + length
    cdef const uint8_t *pattern_end = pattern + pattern_length
    cdef const uint8_t *run = <const uint8_t *> memchr(pattern, ANY_RUN, pattern_length)
    text = _match_segment(text, end, pattern, pattern_end if run == NULL else run)
    if run == NULL or text == NULL:
        return text == end
    while True:
        pattern = run + 1
        run = <const uint8_t *> memchr(pattern, ANY_RUN, pattern_end - pattern)
        if run == NULL:
            break
        text = _find_segment(text, end, pattern, run)
        if text == NULL:
            return False
    text = _last_place(text, end, pattern, pattern_end)
    return text != NULL and _match_segment(text, end, pattern, pattern_end) == end


# --- IP addresses ----------------------------------------------------------------------------

cdef extern from * nogil:
    """
    #ifdef _WIN32
    #include <winsock2.h>
    #include <ws2tcpip.h>
    #else
    #include <arpa/inet.h>
    #include <sys/socket.h>
    #endif
    """
    int inet_pton(int family, const char *text, void *address)
    int AF_INET
    int AF_INET6

cdef enum:
    MAX_LENGTH = 45     # characters of an address


cdef int read_address(const uint8_t *text, Py_ssize_t length, uint8_t *address) noexcept nogil:
    """Write the bytes of an address, 4 or 16; return its version, 4 or 6, or 0 if the text is not an address."""
    cdef char terminated[MAX_LENGTH + 1]
    cdef int version
    if length > MAX_LENGTH or memchr(text, 0, length) != NULL:
        return 0
    memcpy(terminated, text, length)
    terminated[length] = 0
    version = 6 if memchr(text, c":", length) != NULL else 4
    return version if inet_pton(AF_INET6 if version == 6 else AF_INET, terminated, address) == 1 else 0


cdef bint has_prefix(const uint8_t *address, const uint8_t *block, int bits) noexcept nogil:
    """Return whether an address starts with the first bits of a block."""
    cdef int whole = bits >> 3
    if memcmp(address, block, whole) != 0:
        return False
    return bits & 7 == 0 or (address[whole] ^ block[whole]) >> (8 - (bits & 7)) == 0

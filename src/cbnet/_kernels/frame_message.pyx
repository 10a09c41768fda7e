"""The message of a frame, read from MessagePack without objects. See `frame_message.pxd`."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.mem cimport PyMem_RawFree
from libc.math cimport isfinite
from libc.stdint cimport INT64_MAX, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy, memset

from cbnet._kernels.byte_strings cimport hash_bytes
from cbnet._kernels.frame_codes cimport (
    ARRAY16, BIN8, FIXARRAY, FIXMAP, FIXSTR, FLOAT64, INT16, INT32, INT64, INT8, IS_FALSE, IS_TRUE, MAP16,
    MAX_PAYLOAD_BYTES, MAX_TAGS, MESSAGE_ARRAY, NEGATIVE, NIL, STR32, STR8, UINT16, UINT32, UINT64, UINT8,
)
from cbnet._kernels.intrinsics cimport swap16, swap32, swap64
from cbnet._kernels.memory cimport resized
from cbnet._kernels.message_encoding cimport BOOL, NULL_VALUE, NUMBER, STRING, TAG, Attribute, set_int

cdef enum:
    MAX_ATTRIBUTES = 256
    FEW_NAMES = 16              # compared one by one
    MAX_PROBES = 64             # more only if names were chosen for equal hashes: left to Python


cdef int open_message(FrameMessage *message) except -1:
    """Reserve memory for the largest plain message."""
    message.count = message.room = message.slot_mask = 0
    message.characters = 0
    message.first = message.end = NULL
    message.attributes = NULL
    message.slots = NULL
    return make_room(message, MAX_ATTRIBUTES + MAX_TAGS)


cdef void close_message(FrameMessage *message) noexcept nogil:
    PyMem_RawFree(message.attributes)
    PyMem_RawFree(message.slots)
    message.attributes = NULL
    message.slots = NULL


cdef int make_room(FrameMessage *message, uint32_t room) except -1:
    """Reserve memory for a number of attributes and tags."""
    if room <= message.room:
        return 0
    message.attributes = <ReadAttribute *> resized(message.attributes, room * sizeof(ReadAttribute))
    message.slots = <uint32_t *> resized(message.slots, _slots_for(room) * sizeof(uint32_t))
    message.room = room
    return 0


cdef inline uint32_t _slots_for(uint32_t count) noexcept nogil:
    """Return how many slots leave half of them free: a power of two."""
    cdef uint32_t slots = 2 * FEW_NAMES
    while slots < 2 * count:
        slots *= 2
    return slots


cdef inline uint16_t _two_bytes(const uint8_t *at) noexcept nogil:
    cdef uint16_t raw
    memcpy(&raw, at, 2)
    return swap16(raw)


cdef inline uint32_t _four_bytes(const uint8_t *at) noexcept nogil:
    cdef uint32_t raw
    memcpy(&raw, at, 4)
    return swap32(raw)


cdef inline uint64_t _eight_bytes(const uint8_t *at) noexcept nogil:
    cdef uint64_t raw
    memcpy(&raw, at, 8)
    return swap64(raw)


cdef int64_t count_characters(const uint8_t *text, size_t length) noexcept nogil:
    """Return the number of characters of a text, or -1 if it is not UTF-8 as Python defines it."""
    cdef size_t at = 0
    cdef int64_t characters = 0
    cdef uint64_t chunk
    cdef uint8_t lead, second
    while at < length:
        if at + 8 <= length:
            memcpy(&chunk, text + at, 8)
            if chunk & <uint64_t> 0x8080808080808080ULL == 0:
                at += 8
                characters += 8
                continue
        lead = text[at]
        characters += 1
        if lead < 0x80:
            at += 1
            continue
        if lead < 0xC2 or lead > 0xF4 or at + 1 >= length:
            return -1
        second = text[at + 1]
        if second & 0xC0 != 0x80:
            return -1
        if lead < 0xE0:
            at += 2
            continue
        if at + 2 >= length or text[at + 2] & 0xC0 != 0x80:
            return -1
        if lead < 0xF0:
            if (lead == 0xE0 and second < 0xA0) or (lead == 0xED and second >= 0xA0):  # too long, or a surrogate
                return -1
            at += 3
            continue
        if at + 3 >= length or text[at + 3] & 0xC0 != 0x80:
            return -1
        if (lead == 0xF0 and second < 0x90) or (lead == 0xF4 and second >= 0x90):
            return -1
        at += 4
    return characters


cdef const uint8_t *read_number(const uint8_t *at, const uint8_t *end, uint64_t *number) noexcept nogil:
    """Read a number from 0 to 2**63 - 1, in its shortest form."""
    cdef uint8_t lead
    if at == NULL or at >= end:
        return NULL
    lead = at[0]
    if lead < FIXMAP:
        number[0] = lead
        return at + 1
    if lead == UINT8 and end - at >= 2:
        number[0] = at[1]
        return at + 2 if number[0] > 0x7F else NULL
    if lead == UINT16 and end - at >= 3:
        number[0] = _two_bytes(at + 1)
        return at + 3 if number[0] > 0xFF else NULL
    if lead == UINT32 and end - at >= 5:
        number[0] = _four_bytes(at + 1)
        return at + 5 if number[0] > 0xFFFF else NULL
    if lead == UINT64 and end - at >= 9:
        number[0] = _eight_bytes(at + 1)
        return at + 9 if number[0] > <uint64_t> 0xFFFFFFFF and number[0] <= <uint64_t> INT64_MAX else NULL
    return NULL


cdef inline const uint8_t *_read_length(const uint8_t *at, const uint8_t *end, uint8_t lead8, uint32_t least,
                                        uint32_t *length) noexcept nogil:
    """Read a length of 8, 16 or 32 bits, in its shortest form.

    lead8: the first byte of a length of 8 bits; those of 16 and 32 bits follow it. least: of 8 bits.
    """
    if at[0] == lead8 and end - at >= 2:
        length[0] = at[1]
        return at + 2 if length[0] >= least else NULL
    if at[0] == lead8 + 1 and end - at >= 3:
        length[0] = _two_bytes(at + 1)
        return at + 3 if length[0] > 0xFF else NULL
    if at[0] == lead8 + 2 and end - at >= 5:
        length[0] = _four_bytes(at + 1)
        return at + 5 if length[0] > 0xFFFF else NULL
    return NULL


cdef const uint8_t *read_text(const uint8_t *at, const uint8_t *end, const char **text, uint32_t *length,
                              uint64_t *characters) noexcept nogil:
    """Read a text, check that it is UTF-8, and add its number of characters."""
    cdef int64_t count
    if at == NULL or at >= end:
        return NULL
    if at[0] & 0xE0 == FIXSTR:
        length[0] = at[0] & 31
        at += 1
    else:
        at = _read_length(at, end, STR8, 32, length)
    if at == NULL or <size_t> (end - at) < length[0]:
        return NULL
    count = count_characters(at, length[0])
    if count < 0:
        return NULL
    characters[0] += <uint64_t> count
    text[0] = <const char *> at
    return at + length[0]


cdef const uint8_t *_read_signed(const uint8_t *at, const uint8_t *end, Attribute *value) noexcept nogil:
    """Read a negative int, in its shortest form."""
    cdef uint8_t lead = at[0]
    cdef int64_t number, bound
    if lead == INT8 and end - at >= 2:
        number, bound = <int8_t> at[1], -32
        at += 2
    elif lead == INT16 and end - at >= 3:
        number, bound = <int16_t> _two_bytes(at + 1), -0x80
        at += 3
    elif lead == INT32 and end - at >= 5:
        number, bound = <int32_t> _four_bytes(at + 1), -0x8000
        at += 5
    elif lead == INT64 and end - at >= 9:
        number, bound = <int64_t> _eight_bytes(at + 1), -<int64_t> 0x80000000
        at += 9
    else:
        return NULL
    set_int(value, number)
    return at if number < bound else NULL


cdef const uint8_t *read_scalar(const uint8_t *at, const uint8_t *end, Attribute *value,
                                uint64_t *characters) noexcept nogil:
    """Read a value, numbers in their shortest form."""
    cdef uint8_t lead
    cdef uint64_t number
    cdef double real
    value.element = 0
    if at == NULL or at >= end:
        return NULL
    lead = at[0]
    if lead & 0xE0 == FIXSTR or STR8 <= lead <= STR32:
        value.kind = STRING
        return read_text(at, end, &value.text, &value.length, characters)
    if lead < FIXMAP or UINT8 <= lead <= UINT64:
        at = read_number(at, end, &number)
        if at != NULL:
            set_int(value, <int64_t> number)
        return at
    if lead == FLOAT64 and end - at >= 9:
        number = _eight_bytes(at + 1)
        memcpy(&real, &number, 8)
        value.kind = NUMBER
        value.high = real + 0.0  # -0.0 becomes 0.0
        value.low = 0
        return at + 9 if isfinite(real) else NULL
    if lead >= NEGATIVE:
        set_int(value, <int8_t> lead)
        return at + 1
    if INT8 <= lead <= INT64:
        return _read_signed(at, end, value)
    if lead == IS_FALSE or lead == IS_TRUE:
        value.kind = BOOL
        value.high = lead == IS_TRUE
        return at + 1
    if lead == NIL:
        value.kind = NULL_VALUE
        return at + 1
    return NULL


cdef inline bint _is_same(const ReadAttribute *one, const ReadAttribute *other) noexcept nogil:
    return (
        one.hash == other.hash and one.name_length == other.name_length
        and (one.value.kind == TAG) == (other.value.kind == TAG)
        and memcmp(one.name, other.name, one.name_length) == 0
    )


cdef bint index_attributes(FrameMessage *message) noexcept nogil:
    """Enter attributes in slots if they are many; return whether all names differ, and all tags.

    Of a name that occurs twice Python keeps the last.
    """
    cdef uint64_t seen = 0
    cdef uint64_t repeated = 0
    cdef uint64_t bit
    cdef uint32_t i, j
    message.slot_mask = 0
    if message.count > FEW_NAMES:
        return _enter_many(message)
    for i in range(message.count):  # mostly all bits differ, and no name is compared
        bit = (<uint64_t> 1) << (message.attributes[i].hash & 63)
        repeated |= seen & bit
        seen |= bit
    if repeated:
        for i in range(1, message.count):
            for j in range(i):
                if _is_same(message.attributes + i, message.attributes + j):
                    return False
    return True


cdef bint _enter_many(FrameMessage *message) noexcept nogil:
    cdef const ReadAttribute *attributes = message.attributes
    cdef uint32_t room = _slots_for(message.count)
    cdef uint32_t i, probes, slot
    memset(message.slots, 0, room * sizeof(uint32_t))
    message.slot_mask = room - 1
    for i in range(message.count):
        slot = first_slot(message, attributes[i].hash)
        probes = 0
        while message.slots[slot]:
            probes += 1
            if probes > MAX_PROBES or _is_same(attributes + i, attributes + message.slots[slot] - 1):
                message.slot_mask = 0
                return False
            slot = (slot + 1) & message.slot_mask
        message.slots[slot] = i + 1
    return True


cdef const uint8_t *read_count(const uint8_t *at, const uint8_t *end, uint8_t short_lead, uint8_t lead16,
                               uint32_t *count) noexcept nogil:
    """Read the size of a map or an array, in its shortest form."""
    if at == NULL or at >= end:
        return NULL
    if at[0] & 0xF0 == short_lead:
        count[0] = at[0] & 15
        return at + 1
    if at[0] == lead16 and end - at >= 3:
        count[0] = _two_bytes(at + 1)
        return at + 3 if count[0] > 15 else NULL
    return NULL


cdef const uint8_t *_read_attributes(const uint8_t *at, const uint8_t *end, FrameMessage *message) noexcept nogil:
    cdef ReadAttribute *attribute = message.attributes
    cdef uint32_t count, i
    at = read_count(at, end, FIXMAP, MAP16, &count)
    if at == NULL or count > MAX_ATTRIBUTES:
        return NULL
    for i in range(count):
        at = read_text(at, end, &attribute.name, &attribute.name_length, &message.characters)
        if at == NULL or (attribute.name_length == 1 and attribute.name[0] == c"#"):  # reserved
            return NULL
        at = read_scalar(at, end, &attribute.value, &message.characters)
        if at == NULL:
            return NULL
        attribute.hash = hash_bytes(attribute.name, attribute.name_length, False)
        attribute += 1
    message.count = count
    return at


cdef const uint8_t *_read_tags(const uint8_t *at, const uint8_t *end, FrameMessage *message) noexcept nogil:
    cdef ReadAttribute *tag = message.attributes + message.count
    cdef uint32_t count, i
    at = read_count(at, end, FIXARRAY, ARRAY16, &count)
    if at == NULL or count > MAX_TAGS:
        return NULL
    for i in range(count):
        at = read_text(at, end, &tag.name, &tag.name_length, &message.characters)
        if at == NULL:
            return NULL
        tag.value.kind = TAG
        tag.value.element = 0
        tag.hash = hash_bytes(tag.name, tag.name_length, True)
        tag += 1
    message.count += count
    return at if index_attributes(message) else NULL


cdef const uint8_t *_after_payload(const uint8_t *at, const uint8_t *end) noexcept nogil:
    cdef uint32_t length = 0
    if at == NULL or at >= end:
        return NULL
    at = _read_length(at, end, BIN8, 0, &length)
    if at == NULL or length > MAX_PAYLOAD_BYTES or <size_t> (end - at) < length:
        return NULL
    return at + length


cdef const uint8_t *read_message(const uint8_t *at, const uint8_t *end, FrameMessage *message) noexcept nogil:
    """Read attributes, tags and payload."""
    message.first = at
    message.characters = 0
    message.end = _after_payload(_read_tags(_read_attributes(at, end, message), end, message), end)
    return message.end


cdef bytes stored_content(const FrameMessage *message):
    """Return a message as it is stored: an array of attributes, tags and payload."""
    cdef Py_ssize_t length = message.end - message.first
    cdef bytes content = PyBytes_FromStringAndSize(NULL, length + 1)
    cdef char *at = PyBytes_AS_STRING(content)
    at[0] = <char> MESSAGE_ARRAY
    memcpy(at + 1, message.first, length)
    return content


cdef object _value(const Attribute *value):
    if value.kind == STRING:
        return value.text[:value.length].decode()
    if value.kind == NUMBER:
        return int(value.high) + value.low if value.low else value.high
    return bool(value.high) if value.kind == BOOL else None


def read_plain(bytes data):
    """Read attributes, tags and payload at the start of some bytes; return None if they are not plain.

    Else the attributes, the tags, their characters, and how many bytes were read.
    """
    cdef FrameMessage message
    cdef const uint8_t *first = data
    cdef const uint8_t *end
    cdef ReadAttribute *attribute
    cdef uint32_t i
    open_message(&message)
    try:
        end = read_message(first, first + len(data), &message)
        if end == NULL:
            return None
        attributes, tags = {}, []
        for i in range(message.count):
            attribute = message.attributes + i
            name = attribute.name[:attribute.name_length].decode()
            if attribute.value.kind == TAG:
                tags.append(name)
            else:
                attributes[name] = _value(&attribute.value)
        return attributes, tags, message.characters, end - first
    finally:
        close_message(&message)


def read_plain_number(bytes data):
    """Return the number at the start of some bytes; None if there is none."""
    cdef const uint8_t *first = data
    cdef uint64_t number = 0
    return number if read_number(first, first + len(data), &number) != NULL else None

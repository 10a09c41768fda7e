"""The message of a frame, read from MessagePack without objects.

    Publish   [22, number,                                              attributes, tags, payload, wants_answer]
    Packet    [10, source, incarnation, number, hops, tree, side, tries,       attributes, tags, payload, mark?, origin?]
    Deliver   [36, subscriptions, source, incarnation, number,                 attributes, tags, payload]
                                                                        └── the same bytes in all three ──┘

    attributes  │ dest: "MXP" │ price: 300 │ #vip │     `ReadAttribute[count]`: attributes, then tags
    texts       pointers into the bytes of the frame

Only a plain message is read: single values, no name or tag twice, within the limits of `network.protocol.fields`, and
in the bytes that the encoder of this project would write, so that copying the bytes and encoding them again are the
same. Any other message is left to Python, which handles it, or reports the error.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from cbnet._kernels.message_encoding cimport Attribute

cdef struct ReadAttribute:
    Attribute value             # its symbol is not set; of a tag only the kind is, TAG
    const char *name            # or the tag; UTF-8, not terminated
    uint32_t name_length
    uint64_t hash               # of the name, as `Symbols` hashes it

cdef struct FrameMessage:
    ReadAttribute *attributes   # of different names; then different tags
    uint32_t count              # of both
    uint32_t room
    const uint8_t *first        # bytes of attributes, tags and payload
    const uint8_t *end
    uint64_t characters         # of names, strings and tags, as `security.rights.text_length` counts them
    uint32_t *slots             # of many attributes: an open hash table of indices + 1; 0: free
    uint32_t slot_mask          # 0: few, which are compared one by one

cdef int64_t count_characters(const uint8_t *text, size_t length) noexcept nogil

cdef int open_message(FrameMessage *message) except -1
cdef void close_message(FrameMessage *message) noexcept nogil
cdef int make_room(FrameMessage *message, uint32_t room) except -1
cdef bint index_attributes(FrameMessage *message) noexcept nogil

cdef inline uint32_t first_slot(const FrameMessage *message, uint64_t hash) noexcept nogil:
    return <uint32_t> (hash >> 20) & message.slot_mask

# Each reads one item at `at` and returns the address after it; NULL: not plain, not complete before `end`, or `at` is NULL.
cdef const uint8_t *read_number(const uint8_t *at, const uint8_t *end, uint64_t *number) noexcept nogil
cdef const uint8_t *read_text(const uint8_t *at, const uint8_t *end, const char **text, uint32_t *length,
                              uint64_t *characters) noexcept nogil
cdef const uint8_t *read_scalar(const uint8_t *at, const uint8_t *end, Attribute *value,
                                uint64_t *characters) noexcept nogil
cdef const uint8_t *read_count(const uint8_t *at, const uint8_t *end, uint8_t short_lead, uint8_t lead16,
                               uint32_t *count) noexcept nogil
cdef const uint8_t *read_message(const uint8_t *at, const uint8_t *end, FrameMessage *message) noexcept nogil

cdef bytes stored_content(const FrameMessage *message)

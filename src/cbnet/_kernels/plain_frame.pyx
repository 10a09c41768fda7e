"""Reading of plain frames with messages: Publish and Packet. `frame_message.pxd` draws them."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from cbnet._kernels.frame_codes cimport (
    IS_FALSE, IS_TRUE, LONG_PACKET_ARRAY, MAX_HOPS, MAX_NAME_BYTES, MAX_PACKET_LENGTH, MAX_TREES, MAX_TRIES, NIL, PACKET,
    PACKET_ARRAY, PUBLISH, PUBLISH_ARRAY, SHORT_PACKET_ARRAY,
)
from cbnet._kernels.frame_message cimport FrameMessage, read_message, read_number, read_text


cdef inline const uint8_t *_read_name(
    const uint8_t *at, const uint8_t *end, const char **name, uint32_t *length
) noexcept nogil:
    cdef uint64_t characters = 0
    at = read_text(at, end, name, length, &characters)
    return at if at != NULL and length[0] <= MAX_NAME_BYTES else NULL


cdef bint read_publish(const uint8_t *body, const uint8_t *end, PlainFrame *frame, FrameMessage *message) noexcept nogil:
    """Read a Publish."""
    cdef const uint8_t *at
    if end - body < 2 or body[0] != PUBLISH_ARRAY or body[1] != PUBLISH:
        return False
    at = read_message(read_number(body + 2, end, &frame.number), end, message)
    if at == NULL or end - at != 1 or (at[0] != IS_FALSE and at[0] != IS_TRUE):
        return False
    frame.wants_answer = at[0] == IS_TRUE
    frame.head.origin_length = frame.head.tries = 0
    frame.head.hops = 0
    return True


cdef bint read_packet(const uint8_t *body, const uint8_t *end, PlainFrame *frame, FrameMessage *message) noexcept nogil:
    """Read a Packet."""
    cdef PacketHead *head = &frame.head
    cdef uint64_t tree, tries
    cdef const uint8_t *at
    if end - body < 2 or not SHORT_PACKET_ARRAY <= body[0] <= LONG_PACKET_ARRAY or body[1] != PACKET:
        return False
    if end - body > MAX_PACKET_LENGTH:
        return False
    head.source = body + 2
    head.identity = _read_name(head.source, end, &frame.origin, &frame.origin_length)
    if head.identity == NULL or frame.origin_length == 0:
        return False
    at = read_number(read_number(head.identity, end, &frame.incarnation), end, &frame.number)
    if at == NULL:
        return False
    head.source_length, head.identity_length = head.identity - head.source, at - head.identity
    at = read_number(read_number(at, end, &head.hops), end, &tree)
    at = read_number(read_number(at, end, &frame.side), end, &tries)
    if at == NULL or head.hops >= MAX_HOPS or tree >= MAX_TREES or tries > MAX_TRIES:
        return False
    head.tree, head.tries, head.origin_length = <uint32_t> tree, <uint32_t> tries, 0
    at = read_message(at, end, message)
    if at != NULL and body[0] > SHORT_PACKET_ARRAY:  # a mark
        at = at + 1 if at < end and at[0] == NIL else NULL
    if at != NULL and body[0] >= PACKET_ARRAY:
        at = _read_origin(at, end, frame)
    if at != NULL and body[0] == LONG_PACKET_ARRAY:  # Python handles durable publishing
        at = at + 1 if at < end and at[0] == NIL else NULL
    return at != NULL and at == end


cdef const uint8_t *_read_origin(const uint8_t *at, const uint8_t *end, PlainFrame *frame) noexcept nogil:
    """Read the name of the source in another domain; an empty one changes nothing."""
    cdef const char *origin
    cdef uint32_t length
    frame.head.origin = at
    at = _read_name(at, end, &origin, &length)
    if at != NULL and length:
        frame.origin, frame.origin_length = origin, length
        frame.head.origin_length = at - frame.head.origin
    return at

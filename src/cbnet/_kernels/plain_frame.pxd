"""Plain frames with messages, as the fast path reads them ahead of handling them."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from cbnet._kernels.frame_message cimport FrameMessage

cdef struct PacketHead:     # of a packet, as MessagePack
    const uint8_t *source   # name
    uint32_t source_length
    const uint8_t *identity     # incarnation and number
    uint32_t identity_length
    const uint8_t *origin   # name; of a packet of another domain, else empty
    uint32_t origin_length
    uint64_t hops
    uint32_t tree, tries

cdef struct PlainFrame:
    const uint8_t *end
    uint32_t length
    uint64_t number         # of a Publish: for the answer; of a Packet: of its source
    bint wants_answer       # a Publish
    const char *origin      # of a Packet: the name of its source in its domain
    uint32_t origin_length
    uint64_t incarnation, side
    PacketHead head

# Each reads a frame; False: it is not plain, and to be handled in Python.
cdef bint read_publish(const uint8_t *body, const uint8_t *end, PlainFrame *frame, FrameMessage *message) noexcept nogil
cdef bint read_packet(const uint8_t *body, const uint8_t *end, PlainFrame *frame, FrameMessage *message) noexcept nogil

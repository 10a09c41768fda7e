"""Writing of frames: MessagePack after a length of four bytes."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy


cdef inline uint8_t *put_number(uint8_t *at, uint64_t number) noexcept nogil:
    """Write a number in its shortest form; return the address after it."""
    cdef int width = 1, i
    if number < 0x80:
        at[0] = <uint8_t> number
        return at + 1
    at[0] = 0xCC
    while width < 8 and number >> (8 * width):
        width *= 2
        at[0] += 1
    for i in range(width):
        at[width - i] = <uint8_t> (number >> (8 * i))
    return at + 1 + width


cdef inline uint8_t *put_bytes(uint8_t *at, const void *data, size_t length) noexcept nogil:
    memcpy(at, data, length)
    return at + length


cdef inline void put_length(uint8_t *frame, const uint8_t *end) noexcept nogil:
    """Write the length of a frame in its first four bytes."""
    cdef size_t length = end - frame - 4
    frame[0], frame[1] = <uint8_t> (length >> 24), <uint8_t> (length >> 16)
    frame[2], frame[3] = <uint8_t> (length >> 8), <uint8_t> length


cdef inline uint32_t frame_length(const uint8_t *frame) noexcept nogil:
    return (<uint32_t> frame[0] << 24) | (<uint32_t> frame[1] << 16) | (<uint32_t> frame[2] << 8) | frame[3]

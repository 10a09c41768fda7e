"""IP addresses of conditions, as `language.address_block` reads them."""

from libc.stdint cimport uint8_t
from libc.string cimport memchr, memcmp, memcpy

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

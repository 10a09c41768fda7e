"""Hashes, comparisons and searches of texts, inlined by the kernels."""

from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcmp

cdef extern from "Python.h":
    const char *PyUnicode_AsUTF8AndSize(object text, Py_ssize_t *length) except NULL

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>

    #define MIX 0x9E3779B97F4A7C15ULL  /* an odd number that spreads the bits of a hash */

    /* The last bytes of a text, fewer than eight, as a little-endian number. */
    static inline uint64_t cbnet_tail(const char *text, size_t length) {
        uint64_t wide; uint32_t four; uint16_t two;
        if (length >= 8) { memcpy(&wide, text + length - 8, 8); return wide >> (8 * (8 - (length & 7))); }
        wide = 0;
        size_t at = 0;
        if (length & 4) { memcpy(&four, text, 4); wide = four; at = 4; }
        if (length & 2) { memcpy(&two, text + at, 2); wide |= (uint64_t) two << (8 * at); at += 2; }
        if (length & 1) wide |= (uint64_t) (unsigned char) text[at] << (8 * at);
        return wide;
    }

    /* The first eight bytes as a little-endian number; of a shorter text, with zeros after it. */
    static inline uint64_t cbnet_first(const char *text, size_t length) {
        uint64_t wide;
        if (length < 8) return cbnet_tail(text, length);
        memcpy(&wide, text, 8);
        return wide;
    }

    /* A hash of all bytes, read eight at a time. Table files depend on it. */
    static inline uint64_t cbnet_hash(const char *text, size_t length, uint64_t seed) {
        uint64_t state = seed ^ ((uint64_t) length * 0x9E3779B97F4A7C15ULL), chunk;
        size_t at;
        for (at = 0; at + 8 <= length; at += 8) {
            memcpy(&chunk, text + at, 8);
            state = (state ^ chunk) * 0x9E3779B97F4A7C15ULL;
            state ^= state >> 29;
        }
        if (at < length) {
            state = (state ^ cbnet_tail(text, length)) * 0x9E3779B97F4A7C15ULL;
            state ^= state >> 29;
        }
        state *= 0xBF58476D1CE4E5B9ULL;
        return state ^ (state >> 32);
    }

    /* Whether two texts of one length are equal, without a call where they are short. */
    static inline int cbnet_equal(const char *one, const char *other, size_t length) {
        uint64_t left, right;
        if (length > 32) return memcmp(one, other, length) == 0;
        while (length >= 8) {
            memcpy(&left, one, 8); memcpy(&right, other, 8);
            if (left != right) return 0;
            one += 8; other += 8; length -= 8;
        }
        return cbnet_tail(one, length) == cbnet_tail(other, length);
    }

    /* The first place of a part, which is not empty, in a text; NULL if there is none. */
    static inline const void *cbnet_find(const void *text, size_t length, const void *part, size_t part_length) {
    #if defined(_WIN32) || defined(CBNET_PLAIN_C)
        const char *at = (const char *) text, *last;
        if (part_length > length) return NULL;
        last = at + (length - part_length);
        while (at <= last && (at = (const char *) memchr(at, *(const char *) part, (size_t) (last - at) + 1)) != NULL) {
            if (memcmp(at, part, part_length) == 0) return at;
            at++;
        }
        return NULL;
    #else
        return memmem(text, length, part, part_length);
    #endif
    }
    """
    const uint64_t MIX
    uint64_t first_bytes "cbnet_first" (const char *text, size_t length) noexcept nogil
    uint64_t hash_bytes "cbnet_hash" (const char *text, size_t length, uint64_t seed) noexcept nogil
    const void *find_bytes "cbnet_find" (
        const void *text, size_t length, const void *part, size_t part_length) noexcept nogil
    bint equal_bytes "cbnet_equal" (const char *one, const char *other, size_t length) noexcept nogil

cdef inline bint has_pattern(uint32_t pattern, const void *text, uint32_t length, const void *part,
                             uint32_t part_length) noexcept nogil:
    """Return whether a text begins with (0), ends with (1) or contains (2) a part: the order of all codes of tests."""
    if part_length > length:
        return False
    if pattern < 2:
        return memcmp(<const char *> text + (length - part_length) * pattern, part, part_length) == 0
    return part_length == 0 or find_bytes(text, length, part, part_length) != NULL

"""Single instructions that C has no name for: GCC's and Clang's builtins, and plain C for other compilers.

Define CBNET_PLAIN_C to compile the plain C with any compiler, which is how it is tested.
"""

from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t

cdef extern from *:
    """
    #include <stdint.h>
    #if defined(__GNUC__) && !defined(CBNET_PLAIN_C)
    #define CBNET_COLD __attribute__((cold, noinline, unused))
    static inline int cbnet_trailing_zeros(uint64_t word) { return __builtin_ctzll(word); }
    static inline int cbnet_leading_zeros(uint64_t word) { return __builtin_clzll(word); }
    static inline uint16_t cbnet_swap16(uint16_t word) { return __builtin_bswap16(word); }
    static inline uint32_t cbnet_swap32(uint32_t word) { return __builtin_bswap32(word); }
    static inline uint64_t cbnet_swap64(uint64_t word) { return __builtin_bswap64(word); }
    static inline int cbnet_add(int64_t a, int64_t b, int64_t *sum) { return __builtin_add_overflow(a, b, sum); }
    static inline int cbnet_subtract(int64_t a, int64_t b, int64_t *difference) {
        return __builtin_sub_overflow(a, b, difference);
    }
    static inline int cbnet_multiply(int64_t a, int64_t b, int64_t *product) {
        return __builtin_mul_overflow(a, b, product);
    }
    /* Because of the empty assembly the compiler does not leave out a function that only prefetches. */
    static inline void cbnet_prefetch(const void *address) { __builtin_prefetch(address); __asm__ volatile (""); }
    #else
    #define CBNET_COLD
    static inline int cbnet_leading_zeros(uint64_t word) {
        int zeros = 0;
        if (!(word >> 32)) { zeros += 32; word <<= 32; }
        if (!(word >> 48)) { zeros += 16; word <<= 16; }
        if (!(word >> 56)) { zeros += 8; word <<= 8; }
        if (!(word >> 60)) { zeros += 4; word <<= 4; }
        if (!(word >> 62)) { zeros += 2; word <<= 2; }
        return zeros + !(word >> 63);
    }
    static inline int cbnet_trailing_zeros(uint64_t word) { return 63 - cbnet_leading_zeros(word & (0 - word)); }
    static inline uint16_t cbnet_swap16(uint16_t word) { return (uint16_t) (word << 8 | word >> 8); }
    static inline uint32_t cbnet_swap32(uint32_t word) {
        return (uint32_t) cbnet_swap16((uint16_t) word) << 16 | cbnet_swap16((uint16_t) (word >> 16));
    }
    static inline uint64_t cbnet_swap64(uint64_t word) {
        return (uint64_t) cbnet_swap32((uint32_t) word) << 32 | cbnet_swap32((uint32_t) (word >> 32));
    }
    static inline int cbnet_add(int64_t a, int64_t b, int64_t *sum) {
        int64_t wrapped = (int64_t) ((uint64_t) a + (uint64_t) b);
        *sum = wrapped;
        return ((a ^ wrapped) & (b ^ wrapped)) < 0;
    }
    static inline int cbnet_subtract(int64_t a, int64_t b, int64_t *difference) {
        int64_t wrapped = (int64_t) ((uint64_t) a - (uint64_t) b);
        *difference = wrapped;
        return ((a ^ b) & (a ^ wrapped)) < 0;
    }
    static inline int cbnet_multiply(int64_t a, int64_t b, int64_t *product) {
        int is_wide = 0;
        if (a > 0) is_wide = b > 0 ? a > INT64_MAX / b : b < INT64_MIN / a;
        else if (a < 0) is_wide = b > 0 ? a < INT64_MIN / b : b != 0 && b < INT64_MAX / a;
        *product = (int64_t) ((uint64_t) a * (uint64_t) b);
        return is_wide;
    }
    static inline void cbnet_prefetch(const void *address) { (void) address; }
    #endif
    """
    # Of a word that is not 0.
    int trailing_zeros "cbnet_trailing_zeros" (uint64_t word) noexcept nogil
    int leading_zeros "cbnet_leading_zeros" (uint64_t word) noexcept nogil

    # Bytes in reverse order.
    uint16_t swap16 "cbnet_swap16" (uint16_t word) noexcept nogil
    uint32_t swap32 "cbnet_swap32" (uint32_t word) noexcept nogil
    uint64_t swap64 "cbnet_swap64" (uint64_t word) noexcept nogil

    # Write the result, modulo 2**64; return whether it is not the exact one.
    bint add_overflows "cbnet_add" (int64_t a, int64_t b, int64_t *sum) noexcept nogil
    bint subtract_overflows "cbnet_subtract" (int64_t a, int64_t b, int64_t *difference) noexcept nogil
    bint multiply_overflows "cbnet_multiply" (int64_t a, int64_t b, int64_t *product) noexcept nogil

    void prefetch "cbnet_prefetch" (const void *address) noexcept nogil

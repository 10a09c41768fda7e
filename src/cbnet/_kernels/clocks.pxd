"""Clocks that need no GIL, in nanoseconds: POSIX, and Windows."""

from libc.stdint cimport int64_t

cdef extern from *:
    """
    #include <stdint.h>
    #ifdef _WIN32
    #define WIN32_LEAN_AND_MEAN
    #define NOMINMAX
    #include <windows.h>
    static inline int64_t cbnet_monotonic(void) {
        LARGE_INTEGER ticks, frequency;
        QueryPerformanceFrequency(&frequency);
        QueryPerformanceCounter(&ticks);
        return ticks.QuadPart / frequency.QuadPart * 1000000000
            + ticks.QuadPart % frequency.QuadPart * 1000000000 / frequency.QuadPart;
    }
    static inline int64_t cbnet_thread_time(void) {
        FILETIME created, ended, kernel, user;  /* in units of 100 ns */
        if (!GetThreadTimes(GetCurrentThread(), &created, &ended, &kernel, &user)) return 0;
        return 100 * (((int64_t) kernel.dwHighDateTime << 32 | kernel.dwLowDateTime)
            + ((int64_t) user.dwHighDateTime << 32 | user.dwLowDateTime));
    }
    #else
    #include <time.h>
    static inline int64_t cbnet_clock(clockid_t clock) {
        struct timespec now;
        clock_gettime(clock, &now);
        return (int64_t) now.tv_sec * 1000000000 + now.tv_nsec;
    }
    static inline int64_t cbnet_monotonic(void) { return cbnet_clock(CLOCK_MONOTONIC); }
    static inline int64_t cbnet_thread_time(void) { return cbnet_clock(CLOCK_THREAD_CPUTIME_ID); }
    #endif
    """
    int64_t monotonic_ns "cbnet_monotonic" () noexcept nogil
    int64_t thread_ns "cbnet_thread_time" () noexcept nogil  # processor time of this thread

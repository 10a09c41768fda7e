"""Search for regular expressions without the GIL, in time proportional to the text. `language.regex` is the plain twin.

    program   │ steps n │ ranges m │ at start │ op, a, b │ × n │ first, last │ × m      uint32, little-endian

A step is an operation with two numbers:

    RANGE first last        accepts a character, then the next step
    CLASS place count       accepts a character of some of the ranges, then the next step
    SPLIT a b, JUMP a       go to steps
    ASSERT place            goes to the next step if the assertion holds here
    MATCH                   the pattern has been found
"""

from libc.stdint cimport int64_t, uint8_t

cdef int search(const uint8_t *program, Py_ssize_t size, const uint8_t *text, Py_ssize_t length, int64_t *work) noexcept nogil

"""Conditions as code for a stack machine.

    code      │ accepted │ operation │ operation │ … │ test │      uint8[length], at most MAX_CONDITION_BYTES

The first byte holds the accepted outcomes, or-ed. Operations push a value or replace the last values by their result;
the test at the end consumes them and gives the outcome. Operands stand after their operation, little-endian; a text is
its length (u32) and its UTF-8 bytes. `matching.storage.condition_code` writes the code.
"""

cdef enum Outcome:
    DAMAGED = 0         # never accepted, unlike the others
    IS_TRUE = 1
    IS_FALSE = 2
    IS_UNKNOWN = 4

cdef enum Operation:
    ATTRIBUTE = 1       # name
    NULL_CONSTANT = 2
    FALSE_CONSTANT = 3
    TRUE_CONSTANT = 4
    NUMBER_CONSTANT = 5     # f64 high, i16 low
    STRING_CONSTANT = 6     # text
    BOOL_OF = 7
    LENGTH = 8
    ABS = 9
    ADD = 10
    SUBTRACT = 11
    MULTIPLY = 12
    DIVIDE = 13
    WHOLE_DIVIDE = 14
    REMAINDER = 15
    LOWER = 16
    UPPER = 17
    INT_OF = 18
    STRING_OF = 19
    EQUAL = 20
    UNEQUAL = 21
    LESS = 22
    LESS_OR_EQUAL = 23
    GREATER = 24
    GREATER_OR_EQUAL = 25
    HAS_PREFIX = 26
    HAS_SUFFIX = 27
    HAS_SUBSTRING = 28
    LIKE = 30           # text: the pattern, see `condition_text`
    MEMBER = 31         # u32 count, then `count` constants
    PRESENCE = 32       # name
    HAS_TAG = 33        # tag
    IN_BLOCK = 34       # u8 version (4 or 6), u8 length of the prefix, uint8[16] address; IPv4: its first 4 bytes

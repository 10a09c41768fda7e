"""Numbers of operators, and of tests: operator and type together.

They are those of `language.constraint.Op` and `matching.storage.codes.Test`; types are in `message_encoding`.
"""

cdef enum Operator:
    OP_EQ, OP_NE, OP_LT, OP_LE, OP_GT, OP_GE, OP_PREFIX, OP_SUFFIX, OP_SUBSTRING

cdef enum Test:
    EXISTS, IS_TAG, BOOL_EQ
    NUMBER_EQ, NUMBER_NE, NUMBER_LT, NUMBER_LE, NUMBER_GT, NUMBER_GE
    STRING_EQ, STRING_NE, STRING_LT, STRING_LE, STRING_GT, STRING_GE
    PREFIX, SUFFIX, SUBSTRING
    NULL_EQ, NOT_NULL, IN, CONDITION

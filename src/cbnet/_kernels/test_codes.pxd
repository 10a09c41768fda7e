"""Test codes, operator and type together, as in `matching.storage.codes`."""

cdef enum Test:
    EXISTS, IS_TAG, BOOL_EQ
    NUMBER_EQ, NUMBER_NE, NUMBER_LT, NUMBER_LE, NUMBER_GT, NUMBER_GE
    STRING_EQ, STRING_NE, STRING_LT, STRING_LE, STRING_GT, STRING_GE
    PREFIX, SUFFIX, SUBSTRING
    NULL_EQ, NOT_NULL, IN, CONDITION

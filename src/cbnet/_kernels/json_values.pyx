"""The number of values in a JSON text, before a parser builds them.

    {"a": 1, "b": [true, {}]}        a, b, true and {}: 4

An array or object has a value for each comma of its own, and one more unless it is empty. Nothing else is checked: a
text that is not JSON has some number, too, and the parser refuses it.
"""


def json_values(bytes text not None, Py_ssize_t most):
    """Return the number of values inside the outermost one; the rest is not read as soon as there are more than `most`.

    Twin: `json.loads`, and a count of the items of all lists and dicts.
    """
    cdef const unsigned char *chars = text
    cdef Py_ssize_t at = 0, end = len(text), count = 0
    cdef unsigned char char
    cdef bint is_opened = False     # the last character that is not blank opened an array or object
    while at < end:
        char = chars[at]
        at += 1
        if char == c" " or char == c"\n" or char == c"\t" or char == c"\r":
            continue
        if is_opened or char == c",":
            count += char != c"]" and char != c"}"
            if count > most:
                return count
        is_opened = char == c"[" or char == c"{"
        if char == c'"':
            while at < end and chars[at] != c'"':
                at += 1 + (chars[at] == c"\\")
            at += 1
    return count

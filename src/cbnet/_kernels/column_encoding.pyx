"""Encoding of messages from Arrow columns.

A column has at most one value per row, or lists the row of each value, and the element that each lies in:

    values    │ 7 │ 8 │ 9 │ …
    rows      │ 0 │ 0 │ 2 │ …     ascending
    elements  │ 1 │ 2 │ 3 │ …     index + 1 in the elements of the batch; 0: in no array
"""

from cpython.mem cimport PyMem_RawFree, PyMem_RawRealloc
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcpy

from cbnet._kernels.message_encoding cimport TAG, Attribute, Batch, set_bool, set_float, set_int, set_text

cdef struct Column:
    uint32_t symbol
    int kind                  # a letter, see `fill_from_columns`
    const uint8_t *valid
    size_t data
    const char *text
    int64_t first             # position of the first value in the arrays above
    Py_ssize_t count          # of values, or of rows of tags
    const int64_t *rows       # of each value; NULL: value i is of row i
    const uint32_t *elements  # of each value; NULL: 0
    bint is_repeated          # a row may have several values of the symbol


def fill_from_columns(Batch batch, Py_ssize_t rows, list columns, uint32_t[::1] parents, uint32_t[::1] arrays):
    """Fill an empty batch from columns: (symbol, type, validity, data, text, first, count, rows, elements, is repeated).

    type: "b" bits, "i" int64, "d" float64, "s" strings with int32 offsets, "t" rows of tags, as
    int32 offsets into symbols (int64 in `text`; -1 for tags that no filter uses).
    rows: int64, elements: uint32, see above; 0 for none.
    parents, arrays: of the elements: the element around each (index + 1, or 0), which comes before it, and its array.
    The addresses belong to buffers that the caller keeps alive as long as the batch is read.
    """
    cdef Py_ssize_t row
    cdef int64_t *offsets
    cdef int64_t *cursor
    cdef Column column
    cdef Py_ssize_t index
    for index in range(parents.shape[0]):
        if batch.push_element(parents[index], arrays[index]) == 0:
            raise MemoryError
    while batch.count < rows:
        if not batch.begin_message():
            raise MemoryError
    offsets = batch.offsets
    for row in range(rows + 1):
        offsets[row] = 0
    for values in columns:
        column = _column(values)
        with nogil:
            _count(&column, offsets)
    for row in range(rows):
        offsets[row + 1] += offsets[row]
    batch.used = offsets[rows]
    batch.room = batch.used + 1
    batch.attributes = <Attribute *> PyMem_RawRealloc(batch.attributes, batch.room * sizeof(Attribute))
    cursor = <int64_t *> PyMem_RawRealloc(NULL, (rows + 1) * sizeof(int64_t))
    if batch.attributes == NULL or cursor == NULL:
        PyMem_RawFree(cursor)
        raise MemoryError
    memcpy(cursor, offsets, (rows + 1) * sizeof(int64_t))
    for values in columns:
        column = _column(values)
        with nogil:
            if column.kind == c"t":
                _fill_tags(&column, batch.attributes, cursor)
            else:
                _fill(&column, batch.attributes, cursor)
                if column.is_repeated:
                    _mark_nested(&column, batch.attributes, offsets, cursor, batch.is_nested)
    PyMem_RawFree(cursor)


cdef Column _column(tuple values):
    cdef Column column
    column.symbol, column.kind = values[0], ord(values[1])
    column.valid, column.data = <const uint8_t *> <size_t> values[2], values[3]
    column.text, column.first = <const char *> <size_t> values[4], values[5]
    column.count, column.rows = values[6], <const int64_t *> <size_t> values[7]
    column.elements, column.is_repeated = <const uint32_t *> <size_t> values[8], values[9]
    return column


cdef inline bint _is_valid(const Column *column, Py_ssize_t index) noexcept nogil:
    cdef int64_t place = column.first + index
    return column.valid == NULL or (column.valid[place >> 3] >> (place & 7)) & 1


cdef inline int64_t _row(const Column *column, Py_ssize_t index) noexcept nogil:
    return index if column.rows == NULL else column.rows[index]


cdef void _count(const Column *column, int64_t *offsets) noexcept nogil:
    """Add the values of each row to its offset."""
    cdef const int32_t *starts = <const int32_t *> column.data
    cdef const int64_t *symbols = <const int64_t *> column.text
    cdef Py_ssize_t index
    cdef int32_t at
    for index in range(column.count):
        if _is_valid(column, index):
            if column.kind != c"t":
                offsets[_row(column, index) + 1] += 1
                continue
            for at in range(starts[column.first + index], starts[column.first + index + 1]):
                offsets[index + 1] += symbols[at] >= 0


cdef void _fill_tags(const Column *column, Attribute *attributes, int64_t *cursor) noexcept nogil:
    cdef const int32_t *starts = <const int32_t *> column.data
    cdef const int64_t *symbols = <const int64_t *> column.text
    cdef Py_ssize_t row
    cdef int32_t at
    for row in range(column.count):
        if _is_valid(column, row):
            for at in range(starts[column.first + row], starts[column.first + row + 1]):
                if symbols[at] >= 0:
                    attributes[cursor[row]].symbol = <uint32_t> symbols[at]
                    attributes[cursor[row]].kind = TAG
                    attributes[cursor[row]].element = 0
                    cursor[row] += 1


cdef void _fill(const Column *column, Attribute *attributes, int64_t *cursor) noexcept nogil:
    cdef Py_ssize_t index
    cdef int64_t place, row
    cdef int32_t at
    cdef Attribute *attribute
    for index in range(column.count):
        if not _is_valid(column, index):
            continue
        place, row = column.first + index, _row(column, index)
        attribute = attributes + cursor[row]
        cursor[row] += 1
        attribute.symbol = column.symbol
        attribute.element = 0 if column.elements == NULL else column.elements[index]
        if column.kind == c"i":
            set_int(attribute, (<const int64_t *> column.data)[place])
        elif column.kind == c"d":
            set_float(attribute, (<const double *> column.data)[place])
        elif column.kind == c"s":
            at = (<const int32_t *> column.data)[place]
            set_text(attribute, column.text + at, <uint32_t> ((<const int32_t *> column.data)[place + 1] - at))
        else:
            set_bool(attribute, ((<const uint8_t *> column.data)[place >> 3] >> (place & 7)) & 1)


cdef void _mark_nested(
    const Column *column, const Attribute *attributes, const int64_t *offsets, const int64_t *cursor, uint8_t *is_nested
) noexcept nogil:
    """Mark the rows of a column that have elements, or several values of its symbol so far."""
    cdef Py_ssize_t index
    cdef int64_t row, at
    cdef int64_t marked = -1
    cdef int values
    for index in range(column.count):
        row = _row(column, index)
        if row == marked or is_nested[row]:
            continue
        marked = row
        values = 0
        for at in range(offsets[row], cursor[row]):
            if attributes[at].symbol == column.symbol and attributes[at].kind != TAG:
                values += 1
                if values > 1 or attributes[at].element != 0:
                    is_nested[row] = 1
                    break

"""Encoding of messages from Arrow columns, without an object per value.

A column has at most one value per row, or lists the row of each value, and the element that each lies in:

    values    │ 7 │ 8 │ 9 │ …
    rows      │ 0 │ 0 │ 2 │ …     ascending
    elements  │ 1 │ 2 │ 3 │ …     index + 1 in the elements of the batch; 0: in no array

Plain columns are read from the C data interface of a record batch, without an object per column. Plain are bools, ints,
floats and strings with 32-bit offsets, without a dictionary, whose values are all values of the language. Other columns
are left to Python, which converts them, or reports the error.
"""

from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.math cimport isfinite
from libc.stdint cimport INT64_MAX, int8_t, int16_t, int32_t, uint16_t
from libc.stdlib cimport qsort
from libc.string cimport memset, strchr, strlen

from cbnet._kernels.arrays cimport compare_words
from cbnet._kernels.frame_message cimport count_characters
from cbnet._kernels.intrinsics cimport trailing_zeros
from cbnet._kernels.memory cimport resized
from cbnet._kernels.message_encoding cimport TAG, Attribute, Batch, set_bool, set_float, set_int, set_text
from cbnet._kernels.symbol_table cimport Symbols, find_symbol


cdef class Columns:
    """The columns of a record batch that filters use.

    Their kinds are Arrow's letters: "b" bits, "c" "s" "i" "l" ints of 8 to 64 bits, "C" "S" "I" "L" without sign, "f"
    "g" floats, "u" strings with int32 offsets; and "t" rows of tags, as int32 offsets into symbols (int64 in `text`; -1
    for tags that no filter uses).
    """

    def __cinit__(self):
        self.items = NULL
        self.count = self.room = 0

    def __dealloc__(self):
        PyMem_RawFree(self.items)

    cdef Column *push(self) except NULL:
        """Add a column; return it, to be filled."""
        if self.count == self.room:
            self.items = <Column *> resized(self.items, (2 * self.room + 64) * sizeof(Column))
            self.room = 2 * self.room + 64
        self.count += 1
        memset(self.items + self.count - 1, 0, sizeof(Column))
        return self.items + self.count - 1

    def add(self, uint32_t symbol, str kind, size_t valid, size_t data, size_t text, int64_t first, Py_ssize_t count,
            size_t rows, size_t elements):
        """Add a column by the addresses of its buffers, which the caller keeps alive as long as the batch is read.

        rows: int64, elements: uint32, see above; 0 for none.
        """
        cdef Column *column = self.push()
        column.symbol, column.kind = symbol, ord(kind)
        column.valid, column.data = <const uint8_t *> valid, <const void *> data
        column.text, column.first, column.count = <const char *> text, first, count
        column.rows, column.elements = <const int64_t *> rows, <const uint32_t *> elements

    cdef uint64_t *_order(self) except NULL:
        """Return the indices of the columns, by symbol, tags last: the values of a symbol in a row become neighbours."""
        cdef uint64_t *order = <uint64_t *> resized(NULL, (self.count + 1) * sizeof(uint64_t))
        cdef Py_ssize_t at
        for at in range(self.count):
            order[at] = <uint64_t> (self.items[at].kind == c"t") << 63 | <uint64_t> self.items[at].symbol << 31 | <uint64_t> at
        qsort(order, self.count, sizeof(uint64_t), compare_words)
        return order

    def fill(self, Batch batch not None, Py_ssize_t rows, uint32_t[::1] parents, uint32_t[::1] arrays):
        """Fill an empty batch.

        parents, arrays: of the elements: the element around each (index + 1, or 0), which comes before it, and its array.
        """
        cdef Py_ssize_t at
        cdef bint ok = True
        cdef uint64_t *order = self._order()
        cdef int64_t *cursor = <int64_t *> PyMem_RawMalloc((rows + 1) * sizeof(int64_t))
        with nogil:
            for at in range(parents.shape[0]):
                ok = ok and batch.push_element(parents[at], arrays[at]) != 0
            ok = ok and cursor != NULL and batch.reserve(rows + 1, 0)
            if ok:
                memset(batch.offsets, 0, (rows + 1) * sizeof(int64_t))
                memset(batch.is_nested, 0, rows)
                for at in range(self.count):
                    _count(self.items + at, batch.offsets)
                for at in range(rows):
                    batch.offsets[at + 1] += batch.offsets[at]
                ok = batch.reserve(0, batch.offsets[rows])
            if ok:
                batch.count, batch.used = rows, batch.offsets[rows]
                memcpy(cursor, batch.offsets, (rows + 1) * sizeof(int64_t))
                for at in range(self.count):
                    _fill(self.items + (order[at] & 0x7FFFFFFF), batch, cursor)
        PyMem_RawFree(order)
        PyMem_RawFree(cursor)
        if not ok:
            raise MemoryError


cdef void _count(const Column *column, int64_t *offsets) noexcept nogil:
    """Add the values of each row to its offset."""
    cdef const int32_t *starts = <const int32_t *> column.data
    cdef const int64_t *symbols = <const int64_t *> column.text
    cdef Py_ssize_t base, index
    cdef uint64_t bits
    cdef int32_t at
    for base in range(0, column.count, 64):
        bits = valid_bits(column, base)
        while bits:
            index = base + trailing_zeros(bits)
            bits &= bits - 1
            if column.kind != c"t":
                offsets[(index if column.rows == NULL else column.rows[index]) + 1] += 1
                continue
            for at in range(starts[column.first + index], starts[column.first + index + 1]):
                offsets[index + 1] += symbols[at] >= 0


cdef void _fill(const Column *column, Batch batch, int64_t *cursor) noexcept nogil:
    """Write the values of a column; mark the rows that have elements, or several values of its symbol."""
    cdef Py_ssize_t base, index
    cdef int64_t row
    cdef uint64_t bits
    cdef Attribute *attribute
    for base in range(0, column.count, 64):
        bits = valid_bits(column, base)
        while bits:
            index = base + trailing_zeros(bits)
            bits &= bits - 1
            if column.kind == c"t":
                _fill_tags(column, batch, cursor, index)
                continue
            row = index if column.rows == NULL else column.rows[index]
            attribute = batch.attributes + cursor[row]
            attribute.symbol = column.symbol
            attribute.element = 0 if column.elements == NULL else column.elements[index]
            _read(column, column.first + index, attribute)
            if attribute.element or (cursor[row] > batch.offsets[row] and (attribute - 1).symbol == column.symbol):
                batch.is_nested[row] = 1
            cursor[row] += 1


cdef void _fill_tags(const Column *column, Batch batch, int64_t *cursor, Py_ssize_t row) noexcept nogil:
    cdef const int32_t *starts = <const int32_t *> column.data + column.first + row
    cdef const int64_t *symbols = <const int64_t *> column.text
    cdef Attribute *attribute
    cdef int32_t at
    for at in range(starts[0], starts[1]):
        if symbols[at] >= 0:
            attribute = batch.attributes + cursor[row]
            attribute.symbol, attribute.kind, attribute.element = <uint32_t> symbols[at], TAG, 0
            cursor[row] += 1


cdef inline void _read(const Column *column, int64_t place, Attribute *attribute) noexcept nogil:
    """Read a value; floats are finite, and ints fit in 64 bits with sign."""
    cdef const int32_t *starts
    if column.kind == c"u":
        starts = <const int32_t *> column.data + place
        set_text(attribute, column.text + starts[0], <uint32_t> (starts[1] - starts[0]))
    elif column.kind == c"l" or column.kind == c"L":
        set_int(attribute, (<const int64_t *> column.data)[place])
    elif column.kind == c"g":
        set_float(attribute, (<const double *> column.data)[place])
    elif column.kind == c"b":
        set_bool(attribute, ((<const uint8_t *> column.data)[place >> 3] >> (place & 7)) & 1)
    elif column.kind == c"i":
        set_int(attribute, (<const int32_t *> column.data)[place])
    elif column.kind == c"I":
        set_int(attribute, (<const uint32_t *> column.data)[place])
    elif column.kind == c"s":
        set_int(attribute, (<const int16_t *> column.data)[place])
    elif column.kind == c"S":
        set_int(attribute, (<const uint16_t *> column.data)[place])
    elif column.kind == c"c":
        set_int(attribute, (<const int8_t *> column.data)[place])
    elif column.kind == c"C":
        set_int(attribute, (<const uint8_t *> column.data)[place])
    else:
        set_float(attribute, (<const float *> column.data)[place])


cdef extern from * nogil:
    """
    #ifndef ARROW_C_DATA_INTERFACE
    #define ARROW_C_DATA_INTERFACE
    struct ArrowSchema {
        const char *format; const char *name; const char *metadata; int64_t flags; int64_t n_children;
        struct ArrowSchema **children; struct ArrowSchema *dictionary;
        void (*release)(struct ArrowSchema *); void *private_data;
    };
    struct ArrowArray {
        int64_t length; int64_t null_count; int64_t offset; int64_t n_buffers; int64_t n_children;
        const void **buffers; struct ArrowArray **children; struct ArrowArray *dictionary;
        void (*release)(struct ArrowArray *); void *private_data;
    };
    #endif
    """
    cdef struct ArrowSchema:
        const char *format
        const char *name
        int64_t n_children
        ArrowSchema **children
        ArrowSchema *dictionary
    cdef struct ArrowArray:
        int64_t length, null_count, offset, n_buffers
        const void **buffers
        ArrowArray **children


def add_plain_columns(Columns columns not None, schema, array, Symbols symbols not None):
    """Add the plain columns that filters use; return the indices of the columns that Python must read.

    schema, array: capsules of a record batch whose buffers have the sizes that its arrays need. They must live as long
    as the columns are read. The column "#" is never plain, nor is one of objects or arrays, used or not.
    """
    cdef ArrowSchema *fields = <ArrowSchema *> PyCapsule_GetPointer(schema, "arrow_schema")
    cdef ArrowArray *batch = <ArrowArray *> PyCapsule_GetPointer(array, "arrow_array")
    cdef ArrowSchema *field
    cdef ArrowArray *values
    cdef Column *column
    cdef int64_t symbol
    cdef int64_t index
    cdef bint is_plain, is_read
    cdef list others = []
    for index in range(fields.n_children):
        field, values = fields.children[index], batch.children[index]
        if field.format[0] == c"+" or (field.name[0] == c"#" and field.name[1] == 0):
            others.append(index)
            continue
        symbol = find_symbol(&symbols.table, field.name, strlen(field.name), False)
        if symbol < 0 or values.null_count == values.length:
            continue
        is_plain = field.dictionary == NULL and field.format[1] == 0 and strchr("bcCsSiIlLfgu", field.format[0]) != NULL
        if not is_plain or batch.offset:
            others.append(index)
            continue
        column = columns.push()
        column.symbol, column.kind = <uint32_t> symbol, field.format[0]
        column.first, column.count = values.offset, values.length
        column.valid, column.data = <const uint8_t *> values.buffers[0], values.buffers[1]
        column.text = <const char *> values.buffers[2] if column.kind == c"u" else NULL
        with nogil:
            is_read = _has_values_only(column)
        if not is_read:
            columns.count -= 1
            others.append(index)
    return others


cdef bint _has_values_only(const Column *column) noexcept nogil:
    """Return whether all valid values of a column are values of the language."""
    cdef const int32_t *starts = <const int32_t *> column.data + column.first
    cdef Py_ssize_t base, index
    cdef uint64_t bits
    cdef bint ok = True
    if column.kind != c"u" and column.kind != c"L" and column.kind != c"f" and column.kind != c"g":
        return True
    for base in range(0, column.count, 64):
        bits = valid_bits(column, base)
        while bits and ok:
            index = base + trailing_zeros(bits)
            bits &= bits - 1
            if column.kind == c"u":
                ok = (starts[0] <= starts[index] <= starts[index + 1] <= starts[column.count]
                      and count_characters(<const uint8_t *> column.text + starts[index], starts[index + 1] - starts[index]) >= 0)
            elif column.kind == c"L":
                ok = (<const uint64_t *> column.data)[column.first + index] <= <uint64_t> INT64_MAX
            elif column.kind == c"f":
                ok = isfinite((<const float *> column.data)[column.first + index]) != 0
            else:
                ok = isfinite((<const double *> column.data)[column.first + index]) != 0
    return ok

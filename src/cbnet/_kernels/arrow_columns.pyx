"""Reading the plain columns of an Arrow record batch from its C data interface, without an object per column.

Plain are bools, ints, floats and strings with 32-bit offsets, without a dictionary, whose values are all values of the
language. Other columns are left to Python, which converts them, or reports the error.
"""

from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.math cimport isfinite
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport strchr, strlen

from cbnet._kernels.column_encoding cimport Column, Columns, valid_bits
from cbnet._kernels.frame_message cimport count_characters
from cbnet._kernels.intrinsics cimport trailing_zeros
from cbnet._kernels.symbol_table cimport Symbols, find_symbol

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
    cdef bint is_read
    cdef list others = []
    for index in range(fields.n_children):
        field, values = fields.children[index], batch.children[index]
        if field.format[0] == c"+" or (field.name[0] == c"#" and field.name[1] == 0):
            others.append(index)
            continue
        symbol = find_symbol(&symbols.table, field.name, strlen(field.name), False)
        if symbol < 0 or values.null_count == values.length:
            continue
        if not _is_plain_type(field) or batch.offset:
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


cdef bint _is_plain_type(const ArrowSchema *field) noexcept nogil:
    return field.dictionary == NULL and field.format[1] == 0 and strchr("bcCsSiIlLfgu", field.format[0]) != NULL


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

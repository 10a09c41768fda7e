"""Opening the counting index, which is drawn in `counting_view.pxd`."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from cbnet._kernels.arrays cimport pointer
from cbnet._kernels.counting_selectivity cimport count_ones
from cbnet._kernels.counting_strings cimport Entry, Node
from cbnet._kernels.symbol_table cimport find_symbol
from cbnet._kernels.word_test cimport open_constants


cdef int open_view(View *view, Symbols symbols, dict arrays, uint32_t targets) except -1:
    """Set a view to the arrays of a table; raise ValueError if they do not fit together."""
    cdef Py_ssize_t postings = len(arrays["posting_filters"])
    view.symbols = symbols.count
    view.symbol_branches = <const uint32_t *> pointer(arrays, "symbol_branches", 4, <Py_ssize_t> symbols.count + 1)
    view.branches = <const Branch *> pointer(arrays, "branches", sizeof(Branch), 0)
    view.branch_count = <uint32_t> len(arrays["branches"])
    open_constants(&view.constants, arrays)
    view.operands = <const uint32_t *> pointer(arrays, "operands", 4, 0)
    view.operand_count = <uint32_t> len(arrays["operands"])
    view.posting_offsets = <const uint32_t *> pointer(arrays, "posting_offsets", 4, 1)
    view.constraint_count = <uint32_t> len(arrays["posting_offsets"]) - 1
    view.posting_filters = <const uint32_t *> pointer(arrays, "posting_filters", 4, 0)
    view.posting_targets = <const uint32_t *> pointer(arrays, "posting_targets", 4, postings)
    view.posting_count = <uint32_t> postings
    view.sizes = <const uint8_t *> pointer(arrays, "sizes", 1, 0)
    view.filters = <uint32_t> len(arrays["sizes"])
    view.large_filters = <const uint32_t *> pointer(arrays, "large_filters", 4, 0)
    view.large_count = <uint32_t> len(arrays["large_filters"])
    view.large_rests = <const uint32_t *> pointer(arrays, "large_rests", 4, view.large_count)
    view.always = <const uint32_t *> pointer(arrays, "always", 4, 0)
    view.always_count = <uint32_t> len(arrays["always"])
    _open_filters(view, symbols, arrays)
    _open_tries(&view.tries, arrays)
    view.tries.strings = view.constants.strings.texts
    _open_selectivity(&view.selectivity, arrays, targets)
    return 0


cdef int _open_filters(View *view, Symbols symbols, dict arrays) except -1:
    """Open what is needed to check a filter as a whole."""
    cdef int64_t message_symbol = find_symbol(&symbols.table, "#", 1, False)
    view.message_symbol = symbols.count if message_symbol < 0 else <uint32_t> message_symbol
    view.filter_offsets = <const uint32_t *> pointer(arrays, "filter_offsets", 4, <Py_ssize_t> view.filters + 1)
    view.filter_words = <const uint64_t *> pointer(arrays, "filter_words", 8, 0)
    view.filter_word_count = <uint32_t> len(arrays["filter_words"])
    view.filter_targets = <const uint32_t *> pointer(arrays, "filter_targets", 4, view.filters)
    view.uncounted = NULL
    if len(arrays["uncounted"]):
        view.uncounted = <const uint8_t *> pointer(arrays, "uncounted", 1, view.filters)
    view.loose = <const uint32_t *> pointer(arrays, "loose", 4, 0)
    view.loose_count = <uint32_t> len(arrays["loose"])
    return 0


cdef int _open_tries(Tries *tries, dict arrays) except -1:
    tries.entries = <const Entry *> pointer(arrays, "entries", sizeof(Entry), 0)
    tries.entry_count = <uint32_t> len(arrays["entries"])
    tries.nodes = <const Node *> pointer(arrays, "nodes", sizeof(Node), 0)
    tries.node_count = <uint32_t> len(arrays["nodes"])
    return 0


cdef int _open_selectivity(Selectivity *table, dict arrays, uint32_t targets) except -1:
    table.targets = targets
    table.words = (targets >> 6) + 1
    table.silent = <const uint64_t *> pointer(arrays, "silent", 8, table.words)
    table.silent_ones = count_ones(table.silent, table.words)
    table.determinants = <const uint32_t *> pointer(arrays, "determinants", 4, 0)
    table.rows = <uint32_t> len(arrays["determinants"])
    table.dense = <const uint64_t *> pointer(arrays, "dense", 8, 0)
    table.dense_rows = <uint32_t> min(len(arrays["dense"]) // table.words, table.rows)
    table.sparse_offsets = <const uint32_t *> pointer(arrays, "sparse_offsets", 4, table.rows - table.dense_rows + 1)
    table.sparse = <const uint32_t *> pointer(arrays, "sparse", 4, 0)
    table.sparse_count = <uint32_t> len(arrays["sparse"])
    return 0

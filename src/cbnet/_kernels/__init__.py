"""Compiled inner loops over flat arrays.

A kernel imports nothing of cbnet but other kernels. Its caller validates the input; a message that is not
plain and valid is reported by a return value. A kernel raises KeyError or ValueError where the arrays
of a table file are missing or do not fit together, ValueError for an output array that is too small,
UnicodeEncodeError for half of a surrogate pair, and MemoryError. Each kernel has a plain Python twin in the
package that owns the concept.

    pivot_     the pivot engine            set_     minimal sets and the trie of sets
    counting_  the counting engine         tree_    shortest-path trees
    tag_       the tag and Bloom engines   reduce_  covered filters
    condition_ conditions                  cover_   the index of filters that cover others
    memtable_  filters not yet compiled    frame_, live_, right_  messages in frames: reading, matching, rights

Messages: message_encoding, written by dict_encoding, json_encoding and column_encoding; frame_message, json_values,
symbol_table.
Filters in their byte form: plain_filter, plain_predicate, filter_rows.
Shared: arrays, byte_strings, clocks, intrinsics, constant_pool, text_patterns, word_test, binding_search, target_set,
word_rows, test_codes.
"""

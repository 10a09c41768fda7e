"""Batches of encoded messages; `message_encoding.pxd` draws them."""

from cpython.mem cimport PyMem_RawFree, PyMem_RawRealloc

from cbnet._kernels.memory cimport enlarge


cdef class Batch:
    """The attributes of many messages, encoded. The memory is kept when the messages are removed."""

    def __cinit__(self):
        self.attributes = NULL
        self.offsets = NULL
        self.is_nested = NULL
        self.elements = NULL
        self.count = self.used = self.room = self.message_room = 0
        self.element_count = self.element_room = self.arrays = 0
        self.kept = []
        self.undecided = []
        if not self.reserve(1, 32):
            raise MemoryError
        self.offsets[0] = 0

    def __dealloc__(self):
        PyMem_RawFree(self.attributes)
        PyMem_RawFree(self.offsets)
        PyMem_RawFree(self.is_nested)
        PyMem_RawFree(self.elements)

    def __len__(self):
        return self.count

    def has_nested(self):
        """Return whether a message has objects or arrays, and perhaps several values of an attribute."""
        cdef Py_ssize_t message
        for message in range(self.count):
            if self.is_nested[message]:
                return True
        return False

    def describe(self):
        """Return the attributes of each message, a list, as tuples of symbol, value and element.

        A number is a tuple of the nearest float and the distance from it, a text is bytes, a tag is `...`.
        """
        cdef list messages = []
        cdef Py_ssize_t message, at
        for message in range(self.count):
            messages.append([
                (self.attributes[at].symbol, _described(&self.attributes[at]), self.attributes[at].element)
                for at in range(self.offsets[message], self.offsets[message + 1])
            ])
        return messages

    cdef void forget(self) noexcept nogil:
        """Remove all messages; the owner of their strings stays."""
        self.count = self.used = 0
        self.element_count = self.arrays = 0
        self.offsets[0] = 0

    cdef bint reserve(self, Py_ssize_t messages, Py_ssize_t attributes) noexcept nogil:
        """Reserve memory for a total of messages and of attributes; return False if out of memory."""
        cdef void *larger
        if messages >= self.message_room:
            larger = PyMem_RawRealloc(self.offsets, (messages + messages // 2 + 2) * sizeof(int64_t))
            if larger == NULL:
                return False
            self.offsets = <int64_t *> larger
            larger = PyMem_RawRealloc(self.is_nested, messages + messages // 2 + 2)
            if larger == NULL:
                return False
            self.is_nested = <uint8_t *> larger
            self.message_room = messages + messages // 2 + 1
        if attributes > self.room:
            larger = PyMem_RawRealloc(self.attributes, (attributes + attributes // 2) * sizeof(Attribute))
            if larger == NULL:
                return False
            self.attributes = <Attribute *> larger
            self.room = attributes + attributes // 2
        return True

    cdef bint begin_message(self) noexcept nogil:
        """Begin the next message."""
        if self.count >= self.message_room and not self.reserve(self.count + 1, 0):
            return False
        self.is_nested[self.count] = 0
        self.count += 1
        self.offsets[self.count] = self.used
        return True

    cdef void drop_message(self) noexcept nogil:
        """Take back the last message; its elements stay, unused."""
        self.count -= 1
        self.used = self.offsets[self.count]

    cdef Attribute *push(self, uint32_t symbol) noexcept nogil:
        """Add an attribute to the last message, in no array; return it, to be filled, or NULL."""
        cdef Attribute *attribute
        if self.used == self.room and not self.reserve(0, self.used + 1):
            return NULL
        attribute = self.attributes + self.used
        attribute.symbol = symbol
        attribute.element = 0
        self.used += 1
        self.offsets[self.count] = self.used
        return attribute

    cdef uint32_t push_element(self, uint32_t parent, uint32_t array) noexcept nogil:
        """Add an element of an array; return its index + 1, or 0 if out of memory."""
        if self.element_count == self.element_room and not enlarge(
                <void **> &self.elements, &self.element_room, sizeof(Element)):
            return 0
        self.elements[self.element_count].parent = parent
        self.elements[self.element_count].array = array
        self.elements[self.element_count].depth = self.elements[parent - 1].depth + 1 if parent else 0
        self.element_count += 1
        return self.element_count


cdef object _described(const Attribute *attribute):
    """Return a value; see `Batch.describe`."""
    if attribute.kind == STRING:
        return attribute.text[:attribute.length]
    if attribute.kind == NUMBER:
        return attribute.high, attribute.low
    if attribute.kind == TAG:
        return ...
    return None if attribute.kind == NULL_VALUE else attribute.high != 0

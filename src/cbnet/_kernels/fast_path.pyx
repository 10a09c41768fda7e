"""The data plane of a router: plain messages from bytes to bytes, without objects.

    bytes of a link ─► Publish, Packet ─► read ─► matched once ─► slots ─► Deliver in the buffers of clients
                   │                     (some ahead)                 └──► Packet in the buffers of neighbours
                   └─► any other frame, and whatever is unusual: `run` stops there, before any effect

The Python state machine (`network.forwarding.forwarder`) is the specification: the same frames go out in the same order,
and the same events are counted. Attributes, tags and payload are the same bytes in Publish, Packet and Deliver,
so they are copied.

Some frames are read and looked up ahead: large tables are not in the cache, and what one message needs is fetched while
another one is looked up. Only then they are handled, one by one.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_RawFree
from libc.string cimport memset

from cbnet._kernels.clocks cimport monotonic_ns
from cbnet._kernels.frame_message cimport close_message, open_message
from cbnet._kernels.frame_writer cimport frame_length, put_bytes, put_length, put_number
from cbnet._kernels.frame_codes cimport (
    ARRAY16, DELIVER, DELIVER_ARRAY, FIXARRAY, FIXSTR, MAX_ENTRIES, MAX_NAME_BYTES, NIL, PACKET, PACKET_ARRAY, PUBLISHED,
    PUBLISHED_ARRAY, STR8,
)
from cbnet._kernels.frame_matching cimport RightMatcher
from cbnet._kernels.link_output cimport FrameBuffer, LinkOutput
from cbnet._kernels.memory cimport resized
from cbnet._kernels.pivot_match cimport MESSAGES_AT_ONCE
from cbnet._kernels.plain_frame cimport read_packet, read_publish
from cbnet._kernels.route_table cimport CLIENT_ROLE, OWN_MESSAGES, ROUTER_ROLE, UNKNOWN_ROLE, FastLink, RouteBranch
from cbnet._kernels.slot_table cimport CLIENT_HOLDER, INITIAL_HOLDER, SOURCES_HOLDER, SlotHolder

cdef enum:
    CLOCK_INTERVAL = 64         # messages and deliveries between two readings of the clock

cdef enum Outcome:
    DONE_OUTCOME
    PYTHON_OUTCOME
    LATE_OUTCOME

DONE, PYTHON, LATE = DONE_OUTCOME, PYTHON_OUTCOME, LATE_OUTCOME


cdef bytes _text(str text):
    """Return a name as MessagePack."""
    cdef bytes data = text.encode()
    return (bytes((FIXSTR | len(data),)) if len(data) < 32 else bytes((STR8, len(data)))) + data


cdef class FastPath:
    """The messages of one router."""

    def __cinit__(self):
        cdef int i
        for i in range(MESSAGES_AT_ONCE):
            open_message(self.messages + i)

    def __init__(self, str name, uint64_t incarnation, uint32_t trees, LiveMatcher matcher not None, holder_of, branches_of):
        """Initialise with the identity of the router, the number of its trees, its table, and two callbacks.

        holder_of: see `slot_table`; branches_of: see `route_table`. They must not change the router's state.
        """
        self.name, self.source, self.incarnation, self.trees = name.encode(), _text(name), incarnation, trees
        self.matcher = matcher
        self.links = LinkPlaces()
        self.slots = SlotTable(holder_of, self.links.places)
        self.routes = RouteTable(branches_of, self.links.places)
        self.duplicates = DuplicateDetector()

    def __dealloc__(self):
        cdef int i
        PyMem_RawFree(self.reached)
        PyMem_RawFree(self.chain)
        for i in range(MESSAGES_AT_ONCE):
            close_message(self.messages + i)

    # --- links

    def close(self, int64_t number):
        """Remove a link whose client has no subscriptions any more."""
        cdef int64_t place = self.links.remove(number)
        if place >= 0:
            if self.links.at[place].role == ROUTER_ROLE:
                self.routes.clear()
            if self.slots.slots_of(<uint32_t> place) == 0:  # else a message for them would go to the next holder
                self.links.free_places.append(place)

    # --- frames

    def take_counts(self):
        """Return how often each event was counted since the last call, in the order of its numbers."""
        cdef int i
        counts = [self.counts[i] for i in range(COUNTS)]
        memset(self.counts, 0, sizeof(self.counts))
        return counts

    def run(self, int64_t number, data, Py_ssize_t start, Py_ssize_t end, int64_t slice_ns, int64_t most):
        """Handle the frames of a link in some bytes; return where it stopped, and why.

        most: messages to handle. DONE: no complete frame is left. PYTHON: the frame here is to be handled in Python.
        LATE: the time slice is over, `most` were handled, or a message of a client went to a long queue.
        """
        cdef Py_buffer view
        cdef const uint8_t *first
        cdef const uint8_t *at
        cdef FastLink *link
        cdef uint32_t place, count, length
        cdef uint32_t next = 0
        cdef int64_t began = 0, done = 0
        cdef uint64_t next_look = self.work + CLOCK_INTERVAL
        cdef int outcome = DONE_OUTCOME
        if number not in self.links.places:
            return start, PYTHON
        if most <= 0:
            return start, LATE
        place = self.links.places[number]
        link = self.links.at + place
        count = 1 if self.feeds_long_queue else MESSAGES_AT_ONCE  # as this one may stop early, too
        self.feeds_long_queue = False
        self.matcher.refresh()
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            first = <const uint8_t *> view.buf
            at = first + start
            count = self._read_ahead(place, at, first + end, min(count, most), &outcome)
            while next < count:
                length = self.frames[next].length
                self.message = self.messages + next
                if not (self._publish(place, next) if link.role == CLIENT_ROLE else self._packet(place, next)):
                    outcome = PYTHON_OUTCOME
                    break
                link = self.links.at + place
                at += 4 + length
                done += 1
                next += 1
                self.work += 1 + (length >> 10)
                if self.feeds_long_queue and link.role == CLIENT_ROLE:
                    outcome = LATE_OUTCOME
                    break
                if self.work >= next_look:
                    next_look = self.work + CLOCK_INTERVAL
                    if began == 0:
                        began = monotonic_ns()
                    elif monotonic_ns() - began > slice_ns:
                        outcome = LATE_OUTCOME
                        break
                if next == count:
                    if done == most:
                        outcome = LATE_OUTCOME
                        break
                    count = self._read_ahead(place, at, first + end, min(MESSAGES_AT_ONCE, most - done), &outcome)
                    next = 0
            start = at - first
        finally:
            PyBuffer_Release(&view)
        (<LinkOutput> link.output).traffic.messages_received += done
        return start, outcome

    cdef int _read_ahead(
        self, uint32_t place, const uint8_t *at, const uint8_t *stop, uint32_t most, int *outcome
    ) except -1:
        """Read and look up some frames; return how many, and if none, whether Python must handle the first."""
        cdef const FastLink *link = self.links.at + place
        cdef PlainFrame *frame
        cdef uint32_t length
        cdef uint32_t count = 0
        cdef bint is_plain = True
        while count < most and stop - at >= 4:
            length = frame_length(at)
            if length > link.max_length or link.role == UNKNOWN_ROLE:
                is_plain = False
                break
            if <size_t> (stop - at) < <size_t> length + 4:
                break
            at += 4
            frame = self.frames + count
            frame.end, frame.length = at + length, length
            if link.role == CLIENT_ROLE:
                is_plain = read_publish(at, frame.end, frame, self.messages + count)
            else:
                is_plain = read_packet(at, frame.end, frame, self.messages + count)
            if not is_plain:
                break
            at += length
            count += 1
        if count and not self.matcher.begin(self.messages, count):
            count, is_plain = 0, False
        if count == 0 and not is_plain:
            outcome[0] = PYTHON_OUTCOME
        return count

    cdef int _publish(self, uint32_t place, uint32_t number) except -1:
        """Handle a Publish that was read; return 0, without any effect, if it is to be handled in Python."""
        cdef uint8_t[24] identity
        cdef PlainFrame *frame = self.frames + number
        cdef PacketHead *head = &frame.head
        cdef const Route *route
        cdef FastLink *link = self.links.at + place
        if link.right != NULL and not (<RightMatcher> link.right).allows(self.message):
            return 0
        head.tree = <uint32_t> link.tree if link.tree >= 0 else <uint32_t> ((self.number + 1) % self.trees)
        route = self.routes.find(OWN_MESSAGES, OWN_MESSAGES, 0, head.tree)
        if route == NULL or not self._gather(number) or not self._is_sendable(route):
            return 0
        self.number += 1
        self.counts[PUBLISHED_COUNT] += 1
        head.source, head.source_length = <const uint8_t *> PyBytes_AS_STRING(self.source), PyBytes_GET_SIZE(self.source)
        head.identity = identity
        head.identity_length = put_number(put_number(identity, self.incarnation), self.number) - identity
        self.duplicates.is_new_packet(
            PyBytes_AS_STRING(self.name), PyBytes_GET_SIZE(self.name), self.incarnation, head.tree, <int64_t> self.number
        )
        self._deliver(head)
        self._send(route, head)
        if frame.wants_answer:
            self._answer(place, frame.number)
        return 1

    cdef int _packet(self, uint32_t place, uint32_t number) except -1:
        """Handle a Packet that was read; return 0, without any effect, if it is to be handled in Python."""
        cdef const PlainFrame *frame = self.frames + number
        cdef const PacketHead *head = &frame.head
        cdef const Route *route = self.routes.find(place, self.links.at[place].number, frame.side, head.tree)
        if route == NULL or not self._gather(number) or not self._is_sendable(route):
            return 0
        self.counts[RECEIVED_COUNT] += 1
        if self.duplicates.is_new_packet(
            frame.origin, frame.origin_length, frame.incarnation, head.tree, <int64_t> frame.number
        ):
            self._deliver(head)
        else:
            self.counts[DUPLICATE_COUNT] += 1
        self._send(route, head)
        (<LinkOutput> self.links.at[place].output).handled(head.hops, frame.length + 4)
        return 1

    cdef int _gather(self, uint32_t number) except -1:
        """Match one of the messages that were read, and collect what it is for; return 0 if Python must handle it."""
        cdef SlotHolder *holder
        cdef FastLink *link
        cdef int64_t i
        cdef int word
        if not self.matcher.finish(number):
            self.matcher.matches -= 1  # it is matched again
            return 0
        self.stamp += 1
        self.reached_count = 0
        self.is_initial = False
        memset(self.sources, 0, sizeof(self.sources))
        if <size_t> self.matcher.found.used > self.chain_room:
            self.chain_room = 2 * self.matcher.found.used
            self.chain = <int32_t *> resized(self.chain, self.chain_room * sizeof(int32_t))
            self.reached = <uint32_t *> resized(self.reached, self.chain_room * sizeof(uint32_t))
        for i in range(self.matcher.found.used):
            holder = self.slots.find(self.matcher.found.targets[i])
            if holder.kind == CLIENT_HOLDER:
                link = self.links.at + holder.link
                self.chain[i] = -1
                if link.stamp != self.stamp:
                    link.stamp, link.first, link.ids = self.stamp, <int32_t> i, 0
                    self.reached[self.reached_count] = holder.link
                    self.reached_count += 1
                else:
                    self.chain[link.last] = <int32_t> i
                link.last = <int32_t> i
                link.ids += 1
            elif holder.kind == SOURCES_HOLDER:
                for word in range(SOURCE_WORDS):
                    self.sources[word] |= holder.sources[word]
            elif holder.kind == INITIAL_HOLDER:
                self.is_initial = True
            else:
                self.matcher.matches -= 1  # it is matched again
                return 0
        return 1

    cdef bint _is_sendable(self, const Route *route) noexcept:
        """Return whether no branch that wants the message is down."""
        cdef uint32_t i
        for i in range(route.count):
            if route.branches[i].link < 0 and _is_wanted(route.branches + i, self.sources):
                self.matcher.matches -= 1
                return False
        return True

    # --- what is sent

    cdef int _deliver(self, const PacketHead *head) except -1:
        """Send the message to the clients whose subscriptions match."""
        cdef uint32_t i
        if self.reached_count or self.is_initial:
            self.counts[MATCHED_COUNT] += 1
            self.counts[INITIAL_COUNT] += self.is_initial
        for i in range(self.reached_count):
            self._deliver_to(self.reached[i], head)
        self.work += self.reached_count
        return 0

    cdef int _deliver_to(self, uint32_t place, const PacketHead *head) except -1:
        cdef FastLink *link = self.links.at + place
        cdef LinkOutput output
        cdef size_t body = self.message.end - self.message.first
        cdef uint32_t left = link.ids, part, n
        cdef int32_t slot = link.first
        cdef uint8_t *frame
        cdef uint8_t *at
        self.counts[DELIVERED_COUNT] += left
        if link.output == NULL:
            return 0
        output = <LinkOutput> link.output
        while left:
            part = min(left, <uint32_t> MAX_ENTRIES)
            left -= part
            frame = output.begin_frame(16 + 9 * <size_t> part + 2 * MAX_NAME_BYTES + 18 + body)
            frame[4], frame[5] = DELIVER_ARRAY, DELIVER
            if part < 16:
                frame[6] = FIXARRAY | <uint8_t> part
                at = frame + 7
            else:
                frame[6], frame[7], frame[8] = ARRAY16, <uint8_t> (part >> 8), <uint8_t> part
                at = frame + 9
            for n in range(part):
                at = put_number(at, self.slots.holders[self.matcher.found.targets[slot]].id)
                slot = self.chain[slot]
            if head.origin_length:
                at = put_bytes(at, head.origin, head.origin_length)
            else:
                at = put_bytes(at, head.source, head.source_length)
            at = put_bytes(at, head.identity, head.identity_length)
            at = put_bytes(at, self.message.first, body)
            put_length(frame, at)
            output.end_frame(at)
            output.traffic.messages_sent += 1
        if not link.is_touched:
            self.links.touch(place)
        return 0

    cdef int _send(self, const Route *route, const PacketHead *head) except -1:
        """Send the message to the neighbours on a tree whose side wants it."""
        cdef const RouteBranch *branch
        cdef FastLink *link
        cdef LinkOutput output
        cdef FrameBuffer buffer
        cdef size_t body = self.message.end - self.message.first
        cdef uint8_t *frame
        cdef uint8_t *at
        cdef uint32_t i
        for i in range(route.count):
            branch = route.branches + i
            if not _is_wanted(branch, self.sources):
                continue
            self.counts[UNPRUNED_COUNT] += branch.sources == NULL
            self.counts[SENT_COUNT] += 1
            link = self.links.at + branch.link
            output = <LinkOutput> link.output
            buffer = output.target(head.hops + 1)
            frame = buffer.begin_frame(64 + 2 * (MAX_NAME_BYTES + 2) + 18 + body)
            frame[4], frame[5] = PACKET_ARRAY, PACKET
            at = put_bytes(frame + 6, head.source, head.source_length)
            at = put_bytes(at, head.identity, head.identity_length)
            at = put_number(at, head.hops + 1)
            at = put_number(at, head.tree)
            at = put_number(at, branch.side)
            at = put_number(at, head.tries)
            at = put_bytes(at, self.message.first, body)
            at[0], at[1] = NIL, FIXSTR
            at = put_bytes(at + 1, head.origin, head.origin_length) if head.origin_length else at + 2
            put_length(frame, at)
            if link.batch != NULL:
                self._copy(link, frame, at - frame)
            buffer.end_frame(at)
            if output.added(head.hops + 1, at - frame):
                self.feeds_long_queue = True
            output.traffic.messages_sent += 1
            self.links.touch(branch.link)
            self.work += 1
        return 0

    cdef int _copy(self, const FastLink *link, const uint8_t *frame, size_t length) except -1:
        """Keep a packet that is sent to a neighbour until it is confirmed."""
        cdef FrameBuffer batch = <FrameBuffer> link.batch
        batch.end_frame(put_bytes(batch.begin_frame(length), frame, length))
        if batch.ready >= batch.max_lossy:
            self.has_full_batch = True
        return 0

    cdef int _answer(self, uint32_t place, uint64_t number) except -1:
        """Confirm to a client that its message was published."""
        cdef LinkOutput output = <LinkOutput> self.links.at[place].output
        cdef uint8_t *frame = output.begin_frame(16)
        cdef uint8_t *at
        frame[4], frame[5] = PUBLISHED_ARRAY, PUBLISHED
        at = put_number(frame + 6, number)
        put_length(frame, at)
        output.end_frame(at)
        self.links.touch(place)
        return 0


cdef inline bint _is_wanted(const RouteBranch *branch, const uint64_t *sources) noexcept nogil:
    """Return whether a message with these sources is wanted behind a branch."""
    cdef int word
    cdef uint64_t common = 0
    if branch.sources == NULL:
        return True
    for word in range(SOURCE_WORDS):
        common |= branch.sources[word] & sources[word]
    return common != 0

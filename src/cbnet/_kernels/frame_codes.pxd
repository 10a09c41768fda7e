"""Numbers, limits and first bytes of frames: the only place where kernels repeat `network.protocol`."""

cdef enum:  # frames, as in `network.protocol.frames`
    PACKET = 10
    TRACE_REPORT = 13           # to NO_ITEM: also REQUEST and REPLY
    NO_ITEM = 16
    PUBLISH = 22
    PUBLISHED = 32
    DELIVER = 36
    DURABLE_PUBLISH = 72

cdef enum:  # limits, as in `network.protocol.fields` and `network.protocol.wire`
    LENGTH_BYTES = 4            # of a frame, before it
    MAX_NAME_LENGTH = 64        # characters
    MAX_NAME_BYTES = 64         # of such a name, which may have more; Python handles longer names
    MAX_VALUES = 4096
    MAX_TAGS = 1024
    MAX_PAYLOAD_BYTES = 1 << 19
    MAX_CLIENT_BYTES = 1 << 20  # of a client's frame
    MAX_PACKET_LENGTH = (5 << 19) - 4
    MAX_ENTRIES = 2048          # subscriptions in one Deliver
    MAX_HOPS = 255
    MAX_TREES = 64
    MAX_TRIES = 3
    MAX_UNSETTLED = 1024        # messages of a publisher, as in `network.protocol.durable_frames`
    MAX_SECONDS = 3600          # that a client waits for an answer

cdef enum:  # first bytes of arrays with a known number of members
    PUBLISHED_ARRAY = 0x92
    MESSAGE_ARRAY = 0x93        # attributes, tags, payload
    PUBLISH_ARRAY = 0x96
    DELIVER_ARRAY = 0x98
    OLD_DURABLE_PUBLISH_ARRAY = 0x98    # without `required`
    DURABLE_PUBLISH_ARRAY = 0x99
    SHORT_PACKET_ARRAY = 0x9B   # without a mark and an origin
    PACKET_ARRAY = 0x9D
    LONG_PACKET_ARRAY = 0x9E    # with a mark of durable publishing, or nil

cdef enum:  # first bytes in MessagePack
    FIXMAP = 0x80
    FIXARRAY = 0x90
    FIXSTR = 0xA0
    NIL = 0xC0
    IS_FALSE = 0xC2
    IS_TRUE = 0xC3
    BIN8 = 0xC4
    FLOAT64 = 0xCB
    UINT8 = 0xCC
    UINT16 = 0xCD
    UINT32 = 0xCE
    UINT64 = 0xCF
    INT8 = 0xD0
    INT16 = 0xD1
    INT32 = 0xD2
    INT64 = 0xD3
    STR8 = 0xD9
    STR32 = 0xDB
    ARRAY16 = 0xDC
    MAP16 = 0xDE
    NEGATIVE = 0xE0

"""Files with damaged bytes."""

import random


def flipped_bits(path, times):
    """Write a file with one random bit changed, so many times; yield after each."""
    whole, source = path.read_bytes(), random.Random(5)
    for _ in range(times):
        damaged = bytearray(whole)
        damaged[source.randrange(len(whole))] ^= 1 << source.randrange(8)
        path.write_bytes(damaged)
        yield

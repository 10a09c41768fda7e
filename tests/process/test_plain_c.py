"""The kernels' C without builtins of a compiler, as MSVC compiles it, gives what Python computes."""

import ctypes
import random
import shutil
import subprocess
from pathlib import Path

import pytest

KERNELS = Path(__file__).parents[2] / "src/cbnet/_kernels"
_WORD, _INT = ctypes.c_uint64, ctypes.c_int64
_EDGES = [0, 1, -1, 2, -2, 3, 10, 2**31, 2**32, 3037000500, -3037000500, 2**62, 2**63 - 1, -(2**63), -(2**63) + 1]


def _verbatim(name):
    """Return the C code in a declaration file, with functions that a library exports."""
    code = (KERNELS / name).read_text().split('cdef extern from *:\n    """\n')[1].split('    """\n')[0]
    return code.replace("static inline", '__attribute__((visibility("default")))')


@pytest.fixture(scope="module", params=["builtins", "plain"])
def library(request, tmp_path_factory):
    assert shutil.which("gcc"), "this test needs gcc"
    folder = tmp_path_factory.mktemp(request.param)
    (folder / "code.c").write_text(
        "#define _GNU_SOURCE\n" + _verbatim("intrinsics.pxd") + _verbatim("byte_strings.pxd")
    )
    flags = ["-DCBNET_PLAIN_C"] if request.param == "plain" else []
    command = ["gcc", "-std=gnu99", "-O2", "-fwrapv", "-shared", "-fPIC", *flags, "code.c", "-o", "code.so"]
    subprocess.run(command, cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "code.so"))


def _words():
    generator = random.Random(1)
    return [1 << bit for bit in range(64)] + [generator.getrandbits(generator.randint(1, 64)) | 1 for _ in range(500)]


def test_zeros_of_a_word(library):
    for name in ("cbnet_trailing_zeros", "cbnet_leading_zeros"):
        getattr(library, name).argtypes = [_WORD]
    for word in _words():
        assert library.cbnet_trailing_zeros(word) == (word & -word).bit_length() - 1
        assert library.cbnet_leading_zeros(word) == 64 - word.bit_length()


def test_bytes_in_reverse_order(library):
    for bits, kind in ((16, ctypes.c_uint16), (32, ctypes.c_uint32), (64, ctypes.c_uint64)):
        swap = getattr(library, f"cbnet_swap{bits}")
        swap.argtypes, swap.restype = [kind], kind
        for word in _words():
            data = (word % 2**bits).to_bytes(bits // 8, "little")
            assert swap(word % 2**bits) == int.from_bytes(data, "big")


@pytest.mark.parametrize("name", ["add", "subtract", "multiply"])
def test_overflow_of_64_bits(library, name):
    function = getattr(library, f"cbnet_{name}")
    function.argtypes = [_INT, _INT, ctypes.POINTER(_INT)]
    exact = {"add": int.__add__, "subtract": int.__sub__, "multiply": int.__mul__}[name]
    generator = random.Random(2)
    numbers = [*_EDGES, *(generator.getrandbits(generator.randint(1, 63)) for _ in range(40))]
    for left in numbers:
        for right in [*numbers, *(-number for number in numbers if number > -(2**63))]:
            written, expected = _INT(), exact(left, right)
            assert bool(function(left, right, written)) == (not -(2**63) <= expected < 2**63)
            assert written.value == (expected + 2**63) % 2**64 - 2**63


def test_search_of_a_part(library):
    find = library.cbnet_find
    find.argtypes, find.restype = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t], ctypes.c_void_p
    generator = random.Random(3)
    for _ in range(2_000):
        text, part = (bytes(generator.choices(b"ab\0", k=generator.randint(1, most))) for most in (30, 4))
        room = ctypes.create_string_buffer(text, len(text))
        found = find(room, len(text), part, len(part))
        assert (-1 if found is None else found - ctypes.addressof(room)) == text.find(part)

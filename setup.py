"""Compile the kernels; everything else about the package is in pyproject.toml."""

import os
import subprocess
import sys
from pathlib import Path

from Cython import __version__ as cython_version
from Cython.Build import cythonize
from setuptools import Extension, setup

# Code that Cython would repeat in every kernel, such as memoryviews, is compiled once: this cut a build from 107 s of
# processor time to 34 s, and the compiled kernels from 27 MB to 7 MB.
SHARED = "cbnet._kernels._shared"
# Wheels run on other machines: no flag depends on the processor of this one (-march=native). Debugging information,
# which some builds of Python ask for, would double the size.
WINDOWS = sys.platform == "win32"
FLAGS = ["/O2"] if WINDOWS else ["-O3", "-g0"]
LIBRARIES = ["ws2_32"] if WINDOWS else []  # inet_pton

shared_source = Path("src", *SHARED.split(".")).with_suffix(".c")
if not shared_source.exists() or f"Cython {cython_version} " not in shared_source.read_text()[:100]:
    subprocess.run([sys.executable, "-m", "cython", f"--generate-shared={shared_source}"], check=True)

kernels = cythonize(
    [Extension("cbnet._kernels.*", ["src/cbnet/_kernels/*.pyx"], extra_compile_args=FLAGS, libraries=LIBRARIES)],
    compiler_directives={
        "language_level": "3",
        "boundscheck": False,
        "wraparound": False,
        "cdivision": True,
        "initializedcheck": False,
    },
    shared_utility_qualified_name=SHARED,
)
shared = Extension(SHARED, [str(shared_source)], extra_compile_args=FLAGS)
setup(ext_modules=[shared, *kernels], options={"build_ext": {"parallel": os.cpu_count() or 1}})

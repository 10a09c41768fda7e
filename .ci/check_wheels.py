"""Check the contents of built wheels: `python .ci/check_wheels.py FOLDER`.

A wheel has every module, type stub and data file of its package, a compiled kernel for each source, and nothing else.
"""

import sys
from collections.abc import Iterable
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).parents[1]
PACKAGES = {"cbnet": ROOT / "src/cbnet", "cbnet_lab": ROOT / "lab/cbnet_lab"}
_NOT_SHIPPED = {".pyx", ".pxd", ".c", ".so", ".pyd", ".pyc"}


def expected_files(package: Path) -> set[str]:
    """Return the files of a package that a wheel must have as they are."""
    files = (path for path in package.rglob("*") if path.is_file() and path.suffix not in _NOT_SHIPPED)
    return {path.relative_to(package.parent).as_posix() for path in files}


def expected_kernels(package: Path) -> set[str]:
    """Return the names of the compiled kernels."""
    kernels = {path.stem for path in package.glob("_kernels/*.pyx")}
    return kernels | {"_shared"} if kernels else kernels


def faults(names: Iterable[str], package: Path = PACKAGES["cbnet"]) -> list[str]:
    """Return what is missing in, or does not belong to, the files of a wheel."""
    files, expected = expected_files(package), expected_kernels(package)
    shipped = {name for name in names if ".dist-info/" not in name and not name.endswith("/")}
    compiled = {name for name in shipped if name.endswith((".so", ".pyd"))}
    kernels = {name.rpartition("/")[2].partition(".")[0] for name in compiled}
    return [
        *(f"missing: {name}" for name in sorted(files - shipped)),
        *(f"not expected: {name}" for name in sorted(shipped - compiled - files)),
        *(f"kernel missing: {name}" for name in sorted(expected - kernels)),
        *(f"unknown kernel: {name}" for name in sorted(kernels - expected)),
    ]


def main(folder: str) -> None:
    """Check all wheels of a folder, and exit with 1 if one has a fault."""
    wheels = sorted(Path(folder).glob("*.whl"))
    found = [] if wheels else [f"no wheel in {folder}"]
    for wheel in wheels:
        with ZipFile(wheel) as archive:
            package = PACKAGES[wheel.name.partition("-")[0]]
            found += [f"{wheel.name}: {fault}" for fault in faults(archive.namelist(), package)]
            print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB, {len(archive.namelist())} files")
    print("\n".join(found) or "all complete")
    sys.exit(bool(found))


if __name__ == "__main__":
    main(sys.argv[1])

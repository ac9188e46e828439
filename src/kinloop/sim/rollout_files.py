"""Files of rollouts: arrays by name and a description, written to `.npz` or `.parquet`, and read with suspicion.

A file is read as if anyone had written it: nothing in it is run, what it says of sizes is checked before memory is
taken, and what is read must have the digest that was written with it. Whatever is wrong with it is one kind of error.
"""

from __future__ import annotations

import hashlib
import json
import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from kinloop.errors import MethodError, NotARollout
from kinloop.scalar import Array
from kinloop.sim.parquet import arrow, read_parquet, write_parquet

ABOUT = "about"
"""The member of an `.npz` file that holds the description."""


def checked_path(path: str | Path, aim: str = "save to") -> Path:
    """The path of a saved rollout; an error where it has another ending, or where what writes it is not installed."""
    path = Path(path)
    if path.suffix not in (".npz", ".parquet"):
        raise MethodError(f"cannot {aim} {path.name!r}; give a name that ends in .npz or .parquet")
    if path.suffix == ".parquet":
        arrow()
    return path


def write_rollout(path: Path, arrays: dict[str, Array], about: dict[str, Any]) -> Path:
    """Write arrays and what is said about them in plain words, lists and numbers."""
    path.parent.mkdir(parents=True, exist_ok=True)
    about = {**about, "digest": _digest(arrays, about)}
    if path.suffix == ".parquet":
        write_parquet(path, arrays, about)
        return path
    with path.open("wb") as file:
        np.savez_compressed(file, **arrays, **{ABOUT: np.array(json.dumps(about))})  # type: ignore[arg-type]
    return path


def read_rollout(path: Path) -> tuple[dict[str, Array], dict[str, Any]]:
    """The arrays and the description in a file that `write_rollout` wrote."""
    if not path.is_file():
        raise NotARollout(f"{path.name!r} is {'no file' if path.exists() else 'not there'}; give a saved rollout")
    try:
        arrays, about = read_parquet(path) if path.suffix == ".parquet" else _read_npz(path)
        digest = about.pop("digest")
        same = digest == _digest(arrays, about)
    except NotARollout:
        raise
    except Exception as error:  # of zip, zlib, NumPy, Arrow, JSON: a dozen kinds, all about what the file holds
        raise not_a_rollout(path, f"{type(error).__name__} while reading it") from None
    if not same:
        raise not_a_rollout(path, "its content does not have the digest that was written with it")
    return arrays, about


def not_a_rollout(path: Path, why: str) -> NotARollout:
    """The error for a file that does not hold what it should."""
    return NotARollout(f"{path.name!r} is no rollout that Rollout.save wrote, or is damaged: {why}; save it again")


def _read_npz(path: Path) -> tuple[dict[str, Array], dict[str, Any]]:
    with zipfile.ZipFile(path) as archive:
        arrays = {m.filename.removesuffix(".npy"): _read_member(archive, m) for m in archive.infolist()}
    about = json.loads(str(arrays.pop(ABOUT)))
    return arrays, about


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Array:
    """One array, whose header must agree with its size."""
    form = np.lib.format
    with archive.open(member) as file:
        read_header = {(1, 0): form.read_array_header_1_0, (2, 0): form.read_array_header_2_0}[form.read_magic(file)]
        shape, by_columns, dtype = read_header(file)
        if file.tell() + math.prod(shape) * dtype.itemsize != member.file_size:
            raise ValueError("an array of another size than it says")
        data = file.read()
    # arrays of objects, which would have to be unpickled, are refused here
    return np.frombuffer(data, dtype).reshape(shape, order="F" if by_columns else "C").copy(order="C")


def _digest(arrays: dict[str, Array], about: dict[str, Any]) -> str:
    """Of everything: names, kinds, shapes, bits."""
    digest = hashlib.blake2b(json.dumps(about, sort_keys=True).encode(), digest_size=16)
    for name in sorted(arrays):
        x = arrays[name]
        digest.update(json.dumps([name, x.dtype.str, x.shape]).encode())
        digest.update(x.tobytes())
    return digest.hexdigest()

"""`load`: any model file into a mechanism; `build`: into what is made of one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from kinloop.errors import LoopNotClosed, ModelError
from kinloop.io.shared.file_errors import Notes, Where, file_error
from kinloop.io.shared.paths import Packages, Roots
from kinloop.io.shared.reading_options import Limits, Options
from kinloop.io.shared.safe_xml import Node, parse_xml, without_comments
from kinloop.io.shared.whole_files import read_bytes
from kinloop.model import Mechanism

Built = TypeVar("Built")


def load(
    path: str | Path,
    floating_base: bool | None = None,
    strict: bool = False,
    packages: Packages = None,
    keep_fixed: bool = False,
    accept_inertia: bool = False,
    limits: Limits | None = None,
) -> Mechanism:
    """The mechanism of a model file: URDF and its dialects, MJCF, SDF, or kinloop's own format.

    `floating_base`: None as the file says (a URDF root is fixed, an SDF model free), True frees the base,
    False fixes it. `strict` turns every warning into an error. `packages` declares where referenced files may
    lie besides the model's directory: a mapping of package names, or directories. `keep_fixed` keeps links
    behind fixed joints as bodies instead of lumping them. `accept_inertia` takes impossible moments of
    inertia. Warnings are in `mechanism.warnings`; see docs/formats.md.
    """
    options = Options(floating_base, keep_fixed, accept_inertia, limits or Limits())
    notes = Notes(strict)
    mechanism = read_model(Path(path), packages, options, notes)
    notes.announce()
    return mechanism


def build(path: str | Path, make: Callable[[Mechanism], Built], **options: Any) -> Built:
    """What `make` makes of the mechanism of a model file; its errors are about the file and the line of the part.

    `options` are those of `load`.
    """
    strict, packages = options.pop("strict", False), options.pop("packages", None)
    limits = options.pop("limits", None) or Limits()
    notes = Notes(strict)
    mechanism = read_model(Path(path), packages, Options(limits=limits, **options), notes)
    notes.announce(stacklevel=4)
    try:
        return make(mechanism)
    except (ModelError, LoopNotClosed) as error:
        raise file_error(path, error, notes.places) from error


def read_model(path: Path, packages: Packages, options: Options, notes: Notes) -> Mechanism:
    """The mechanism of a model file; warnings and places of parts go to the notes."""
    roots = Roots(path.parent, packages)
    data = read_bytes(path, options.limits.file_bytes)
    if data.lstrip()[:1] == b"{":
        if options.floating_base is not None:
            raise Where(str(path)).error("says by its joints how the base moves; load it with floating_base=None")
        from kinloop.io.own.read_own import read_own

        return read_own(data, path, roots, options.limits, notes)
    root = parse_xml(data, str(path), options.limits)
    if root.tag == "robot" and b"<xacro:" in data and b"<xacro:" in without_comments(data):
        _refuse_xacro(root)
    return _read(root, path, roots, options, notes)


def _refuse_xacro(root: Node) -> None:
    """Xacro is a program that writes URDF; its input is no robot yet."""
    made = next((node for node in root.walk() if node.tag.startswith("xacro:")), None)
    if made is not None:
        name = Path(root.file).name
        to = name.removesuffix(".xacro").removesuffix(".urdf") + ".urdf"
        to = f"made_{to}" if to == name else to
        raise made.error(
            f"is for xacro, which writes URDF; run `xacro {name} > {to}` (pip install xacro) and load {to}"
        )


def _read(root: Node, path: Path, roots: Roots, options: Options, notes: Notes) -> Mechanism:
    """The mechanism of an XML document; a format's reader is imported when a file of that format comes."""
    match root.tag:
        case "robot":
            from kinloop.io.urdf.read_urdf import read_urdf as read
        case "mujoco":
            from kinloop.io.mjcf.read_mjcf import read_mjcf as read
        case "sdf":
            from kinloop.io.sdf.read_sdf import read_sdf as read
        case _:
            raise Where(str(path), root.line, f"<{root.tag}>").error(
                "is not the root of a model file; it must be <robot> (URDF), <mujoco> (MJCF) or <sdf> (SDF)"
            )
    return read(root, path, roots, options, notes)

"""Files that a model refers to, looked for inside the model's directory and declared roots only."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from kinloop.errors import ModelError
from kinloop.io.shared.ros_packages import own_package, packages_below

Packages = Mapping[str, "str | Path"] | Iterable["str | Path"] | None


class Roots:
    """The model's own directory, its package, and what the user declares: a mapping of package names, or directories.

    The package is the nearest directory above the model that has a `package.xml`. Packages that lie a few levels below
    a declared directory are found by the names in their `package.xml`.

    A path counts as inside a root after `..` and symbolic links are resolved. Nothing is opened here;
    outside the roots nothing is even looked at.
    """

    def __init__(self, directory: Path, packages: Packages = None) -> None:
        self.directory = directory.resolve()
        self.named: dict[str, Path] = {}
        self.declared: list[Path] = []
        if isinstance(packages, str | Path):
            packages = [packages]
        if isinstance(packages, Mapping):
            self.named = {str(name): Path(root).resolve() for name, root in packages.items()}
        elif packages is not None:
            self.declared = [Path(root).resolve() for root in packages]
        for root in (*self.named.values(), *self.declared):
            if not root.is_dir():
                raise ModelError(f"packages: {str(root)!r} is not a directory; declare directories that exist")
        own = own_package(self.directory)
        if own is not None:
            self.named.setdefault(*own)
        self._nowhere: set[str] = set()
        self._found: dict[str, Path | None] = {}
        self._places: dict[str, list[str | None]] = {}
        self._below: dict[str, Path] | None = None
        self.roots = [self.directory, *self.named.values(), *self.declared]
        self._folders = {str(root): str(root) for root in self.roots}
        self._beginnings = tuple(os.path.join(os.path.normcase(root), "") for root in self.roots)

    def inside(self, path: str | Path) -> Path | None:
        """The resolved path if it lies inside a root, else None."""
        real = self._inside(str(path))
        return None if real is None else Path(real)

    def _inside(self, path: str) -> str | None:
        try:
            real = self._resolved(path)
        except (OSError, RuntimeError, ValueError):
            return None
        return real if (os.path.normcase(real) + os.sep).startswith(self._beginnings) else None

    def _resolved(self, path: str) -> str:
        """The path without `..` and symbolic links, with the folders of a model resolved once."""
        folder, name = os.path.split(path)
        if name in ("", ".", ".."):
            return str(Path(path).resolve())
        known = self._folders.get(folder)
        if known is None:
            known = self._folders[folder] = self._resolved(folder) if folder else str(Path(folder).resolve())
            if os.path.dirname(known) in self._nowhere or not os.path.lexists(known):
                self._nowhere.add(known)
        real = os.path.join(known, name)
        return real if known in self._nowhere or not _is_link(real) else str(Path(real).resolve())

    def _is_missing(self, real: str) -> bool:
        """Whether the folder of a resolved path is known not to be there, and so the file is not."""
        return os.path.dirname(real) in self._nowhere

    def candidates(self, reference: str) -> list[str]:
        """Where a reference may point: package:// and model:// names, file:// and plain paths."""
        scheme, _, rest = reference.partition("://")
        if not rest:
            here = [self.directory, *self.declared]
            return [reference] if os.path.isabs(reference) else [os.path.join(root, reference) for root in here]
        rest = unquote(rest)
        if scheme == "file":
            return [rest]
        if scheme not in ("package", "model"):
            return []
        name, _, tail = rest.partition("/")
        if not name:
            return [_below(str(root), tail) for root in self.roots]
        out = [_below(str(self.named[name]), tail)] if name in self.named else []
        for root in (self.directory, *self.declared):
            out += [_below(str(root), tail)] if root.name == name else []
            out.append(_below(str(root), name, tail))
        if self._below is None:
            self._below = packages_below(self.declared)
        if name in self._below:
            out.append(_below(str(self._below[name]), tail))
        return out

    def places(self, reference: str) -> list[str | None]:
        """The candidates of a reference, resolved, None for those that lie outside the roots."""
        if reference not in self._places:
            self._places[reference] = [self._inside(path) for path in self.candidates(reference)]
        return self._places[reference]

    def find(self, reference: str) -> Path | None:
        """The existing regular file that a reference means, inside the roots; None if there is none."""
        if reference not in self._found:
            bad = not reference or "\0" in reference or len(reference) > 4096
            places = [] if bad else [real for real in self.places(reference) if real is not None]
            self._found[reference] = next(
                (Path(real) for real in places if not self._is_missing(real) and os.path.isfile(real)), None
            )
        return self._found[reference]

    def escapes(self, reference: str) -> bool:
        """Whether a reference leaves every root: an absolute path elsewhere, or too many `..`."""
        if "\0" in reference or len(reference) > 4096:
            return True
        places = self.places(reference)
        return bool(places) and all(real is None for real in places)


def _below(root: str, *parts: str) -> str:
    """A path below a root; a part that is absolute stands for itself, as everywhere."""
    return os.path.join(root, *parts)


def _is_link(path: str) -> bool:
    try:
        return stat.S_ISLNK(os.lstat(path).st_mode)
    except FileNotFoundError:
        return False
    except (OSError, ValueError):
        return Path(path).is_symlink()


def stem(reference: str) -> str:
    """The file name of a reference without its ending."""
    return PurePosixPath(reference.replace("\\", "/")).stem

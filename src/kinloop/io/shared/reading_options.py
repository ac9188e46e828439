"""How a user wants a model file to be read: what it may ask for, and what to make of its base and fixed joints."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Limits:
    """What a model file may ask for before it is refused: what loads within two seconds, whatever the file asks for.

    `bodies` are more than `elements` leave room for in most files. MuJoCo's compiler takes time with the square of its
    bodies, so that it is given `compiled_bodies` at most. `reach` bounds the joints between the ends of each loop and
    coupling, of all of them together; half as many bodies are looked at to tell which clusters they make.
    """

    file_bytes: int = 10_000_000
    elements: int = 50_000
    depth: int = 100
    attributes: int = 200
    bodies: int = 10_000
    compiled_bodies: int = 1_000
    reach: int = 200_000
    shapes: int = 4_000
    mesh_bytes: int = 200_000_000

    @property
    def links(self) -> int:
        """Links, and likewise loops and couplings; many links may make one body."""
        return 4 * self.bodies

    def closures(self, links: int) -> int:
        """Loops and couplings that a model of so many links or bodies may have; each costs time in every cluster."""
        return min(self.links, 4 * links + 16)


@dataclass(frozen=True)
class Options:
    """Options of `load`, as docs/formats.md describes them."""

    floating_base: bool | None = None
    keep_fixed: bool = False
    accept_inertia: bool = False
    limits: Limits = field(default_factory=Limits)

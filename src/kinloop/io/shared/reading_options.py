"""How a user wants a model file to be read: what it may ask for, and what to make of its base and fixed joints."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Limits:
    """What a model file may ask for before it is refused."""

    file_bytes: int = 10_000_000
    elements: int = 50_000
    depth: int = 100
    attributes: int = 200
    bodies: int = 400
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

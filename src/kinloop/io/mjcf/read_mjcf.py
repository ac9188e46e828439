"""MJCF through MuJoCo's own compiler: the compiled model's fields, taken over as they are."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import numpy as np

from kinloop.io.mjcf.brought_files import BroughtFiles
from kinloop.io.mjcf.mjcf_actuators import read_actuators
from kinloop.io.mjcf.mjcf_bodies import BodyReader, read_sites
from kinloop.io.mjcf.mjcf_contacts import read_contact_rules
from kinloop.io.mjcf.mjcf_equalities import read_equalities
from kinloop.io.mjcf.mjcf_sensors import read_sensors
from kinloop.io.mjcf.mjcf_shapes import read_shapes
from kinloop.io.mjcf.mjcf_tendons import read_tendons
from kinloop.io.mjcf.mjcf_unmodelled import warn_of_unmodelled
from kinloop.io.mjcf.mujoco_codes import GRAVITY_DISABLED, MjModel
from kinloop.io.mjcf.safe_source import Cleaner, Places, Source
from kinloop.io.shared.file_errors import Notes, Where
from kinloop.io.shared.make_mechanism import make_mechanism
from kinloop.io.shared.paths import Roots
from kinloop.io.shared.reading_options import Options
from kinloop.io.shared.robot_description import RobotDescription
from kinloop.io.shared.safe_xml import Node
from kinloop.model import WORLD, Keyframe, Mechanism


def import_mujoco(where: Where) -> ModuleType:
    try:
        return importlib.import_module("mujoco")
    except ImportError:
        raise where.error("MJCF is read through MuJoCo, which is not installed; pip install 'kinloop[mjcf]'") from None


def compile_mjcf(root: Node, path: Path, roots: Roots, options: Options, notes: Notes) -> tuple[MjModel, Source]:
    """MuJoCo's compiled model of a cleaned document, and that document."""
    mujoco = import_mujoco(root.where)
    files = BroughtFiles(options.limits)
    source = Cleaner(path, roots, notes, files).clean(root)
    for text, where in files.sources.values():  # other models by themselves first: errors are about their lines
        with _refusals(text, where):
            mujoco.MjSpec.from_string(text.text(), include=files.models, assets=files.assets)
    with _refusals(source, root.where):
        model = mujoco.MjSpec.from_string(source.text(), include=files.models, assets=files.assets).compile()
    return model, source


@contextmanager
def _refusals(source: Source, where: Where) -> Iterator[None]:
    """MuJoCo's complaints about a document, at the elements that they are about."""
    try:
        yield
    except (ValueError, TypeError, RuntimeError, UnicodeError) as error:
        raise source.blame(str(error), where) from None


def read_mjcf(root: Node, path: Path, roots: Roots, options: Options, notes: Notes) -> Mechanism:
    """The mechanism of a `<mujoco>`; q of every joint is MuJoCo's qpos, `ref` included."""
    model, source = compile_mjcf(root, path, roots, options, notes)
    most = min(options.limits.bodies, options.limits.compiled_bodies)
    if model.nbody - 1 > most:
        raise root.error(f"has {model.nbody - 1} bodies; limits allow {most}")
    if model.ngeom > options.limits.shapes:
        raise root.error(f"has {model.ngeom} geoms; limits allow {options.limits.shapes} shapes")
    description = RobotDescription(root.get("model") or path.stem, root.where, options, notes)
    description.gravity = np.zeros(3) if model.opt.disableflags & GRAVITY_DISABLED else model.opt.gravity.copy()
    places = Places(source, root.where)
    frames = BodyReader(model, description, places).read()
    for link, geometry in read_shapes(model, frames, source.meshes, places):
        shapes = description.world_geometry if link == WORLD else description.links[link].geometry
        shapes.append(geometry)
    description.contact_rules = read_contact_rules(model, frames.names, places)
    read_sites(model, description, frames, places)
    read_equalities(model, description, frames, places)
    warn_of_unmodelled(model, description.notes, frames.names, places)
    description.actuators += read_actuators(model, frames, places)
    description.tendons += read_tendons(model, frames, places)
    description.sensors += read_sensors(model, frames, places, description.notes)
    for k in range(model.nkey):
        name = frames.names.of("key", k)
        with places.of("key", name).blamed():
            parts = (tuple(x[k].tolist()) for x in (model.key_qpos, model.key_ctrl, model.key_act))
            description.keyframes.append(Keyframe(name, *parts))
    return make_mechanism(description)

"""Files of height fields made safe for MuJoCo's decoder: how many heights they hold is known before it starts."""

from __future__ import annotations

import struct
import zlib

from kinloop.errors import ModelError

PNG = b"\x89PNG\r\n\x1a\n"
KEPT = (b"IHDR", b"PLTE", b"IDAT", b"IEND")
"""Parts of a PNG file that are the picture; the others may hold anything, compressed without bound."""
BYTES_PER_PIXEL = 8
"""Of the widest format: four channels of sixteen bits."""


def safe_heightfield(data: bytes, most: int) -> tuple[bytes, str, int]:
    """The bytes for MuJoCo, their content type, and how many heights they hold, which are at most `most`."""
    if not data.startswith(PNG):
        rows, columns = struct.unpack("<ii", data[:8]) if len(data) >= 8 else (0, 0)
        if rows < 1 or columns < 1 or len(data) != 8 + 4 * rows * columns:
            raise ModelError("is neither a PNG file nor rows and columns of 32-bit heights; write one of them")
        return data, "image/vnd.mujoco.hfield", rows * columns
    parts = _chunks(data)
    width, height = struct.unpack(">II", parts[0][1][:8])
    if width * height > most:
        raise ModelError(f"is a picture of {width} x {height} pixels; limits allow {most} heights in all")
    _check_pixels(b"".join(content for kind, content in parts if kind == b"IDAT"), width, height)
    return PNG + b"".join(map(_chunk, parts)), "image/png", width * height


def _chunks(data: bytes) -> list[tuple[bytes, bytes]]:
    """The parts of a PNG file that are the picture, by their names, its header first."""
    out, at = [], len(PNG)
    while at + 12 <= len(data):
        (size,) = struct.unpack(">I", data[at : at + 4])
        kind, content = data[at + 4 : at + 8], data[at + 8 : at + 8 + size]
        if kind in KEPT:
            out.append((kind, content))
        at += 12 + size
    kinds = [kind for kind, _ in out]
    if kinds[:1] != [b"IHDR"] or kinds[-1:] != [b"IEND"] or b"IDAT" not in kinds or len(out[0][1]) != 13:
        raise ModelError("is a PNG file that is not whole; write it anew")
    return out


def _check_pixels(compressed: bytes, width: int, height: int) -> None:
    """Refuse pixels that are more than the picture has."""
    room = 2 * (BYTES_PER_PIXEL * width + 1) * height + 64  # interlaced pictures have more rows
    inflater = zlib.decompressobj()
    try:
        found = len(inflater.decompress(compressed, room + 1))
    except zlib.error as error:
        raise ModelError(f"is a PNG file that cannot be unpacked ({error}); write it anew") from None
    if found > room:
        raise ModelError(f"is a PNG file that unpacks to more than its {width} x {height} pixels; write it anew")


def _chunk(part: tuple[bytes, bytes]) -> bytes:
    kind, content = part
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

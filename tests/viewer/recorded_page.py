"""What is in a recorded page."""

import base64
import re


def messages(path):
    """(duration, [(time, message)]) of a page's recording."""
    import msgspec
    import zstandard

    text = path.read_text(encoding="utf-8")
    data = base64.b64decode(re.search(r'__VISER_EMBED_DATA__="([^"]+)"', text).group(1))
    raw = zstandard.ZstdDecompressor().decompress(data[8:], max_output_size=int.from_bytes(data[:8], "little"))
    size = int.from_bytes(raw[:8], "little")
    found = msgspec.msgpack.decode(raw[8 : 8 + size])
    return found["durationSeconds"], found["messages"]


def nodes(found):
    return [m["name"] for _, m in found if "props" in m and "name" in m]

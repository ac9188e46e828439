"""A headless Chromium, driven over its debugging port: open a page, wait, take a picture."""

from __future__ import annotations

import base64
import io
import json
import shutil
import subprocess
import time
import urllib.request
from pathlib import Path

import numpy as np

FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader", "--hide-scrollbars", "--remote-debugging-port=0", "--remote-allow-origins=*",
]  # fmt: skip


def find() -> str | None:
    """The Chromium of this machine, if there is one."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if (path := shutil.which(name)) is not None:
            return path
    return None


class Browser:
    """One page of a fresh browser; use as a context."""

    def __init__(self, work: Path, size: tuple[int, int] = (960, 640)) -> None:
        self.size = size
        self.profile = work / "profile"
        self.ids = 0

    def __enter__(self) -> Browser:
        from websockets.sync.client import connect

        program = find()
        assert program is not None
        width, height = self.size
        command = [program, *FLAGS, f"--user-data-dir={self.profile}", f"--window-size={width},{height}", "about:blank"]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        port = self._port()
        pages = json.load(urllib.request.urlopen(f"http://127.0.0.1:{port}/json", timeout=10))
        url = next(p["webSocketDebuggerUrl"] for p in pages if p["type"] == "page")
        self.socket = connect(url, max_size=None, open_timeout=20)
        self.send("Page.enable")
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        return self

    def _port(self) -> int:
        """The debugging port the browser chose, from the file it writes once it listens."""
        told = self.profile / "DevToolsActivePort"
        for _ in range(300):
            if told.exists() and (lines := told.read_text().split()):
                return int(lines[0])
            time.sleep(0.1)
        raise TimeoutError("the browser did not open its debugging port within 30 s")

    def __exit__(self, *failure: object) -> None:
        self.socket.close()
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()

    def send(self, method: str, **params: object) -> dict:
        """One command, and its answer."""
        self.ids += 1
        self.socket.send(json.dumps({"id": self.ids, "method": method, "params": params}))
        while True:
            answer = json.loads(self.socket.recv(timeout=60))
            if answer.get("id") == self.ids:
                assert "error" not in answer, answer
                return answer["result"]

    def evaluate(self, expression: str) -> object:
        return self.send("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def open(self, url: str) -> None:
        self.send("Page.navigate", url=url)

    def picture(self) -> tuple[bytes, np.ndarray]:
        """The page as PNG bytes and as an array (height, width, 3)."""
        from PIL import Image

        data = base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"])
        return data, np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))

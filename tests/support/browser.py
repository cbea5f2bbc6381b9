# SPDX-License-Identifier: BSD-3-Clause
"""Headless Chromium, told what to do through a pipe (the Chrome DevTools Protocol)."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, PROGRAMS)), None)
WAIT = 120  # seconds


class Browser:
    """A page in a window without a screen and without network.

    Args:
        width, height: size of the page in CSS pixels.
    """

    def __init__(self, width: int, height: int = 900) -> None:
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        commands, self._commands = os.pipe()
        self._answers, answers = os.pipe()
        # Chromium reads descriptor 3 and writes descriptor 4.
        words = ["bash", "-c", f'exec "$@" 3<&{commands} 4>&{answers}', "bash", CHROMIUM]
        words += ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe"]
        words += ["--hide-scrollbars", "--disable-dev-shm-usage", "--allow-file-access-from-files"]
        words += ["--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={self._profile.name}"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self._process = subprocess.Popen(words, pass_fds=(commands, answers), **quiet)
        os.close(commands)
        os.close(answers)
        self._buffer, self._number, self._session = b"", 0, {}
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._session = {"sessionId": session}
        self._call("Page.enable")
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self._call("Emulation.setDeviceMetricsOverride", **size)

    def open(self, page: Path) -> None:
        """Open a file and wait until its images and scripts have been loaded."""
        self._call("Page.navigate", url=page.resolve().as_uri())
        while self._message().get("method") != "Page.loadEventFired":
            pass

    def value(self, script: str) -> Any:
        """The value of an expression in JavaScript, which may be a promise."""
        found = self._call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def picture(self, path: Path) -> None:
        """Write what the window shows as a PNG file."""
        shot = self._call("Page.captureScreenshot", format="png")
        path.write_bytes(base64.b64decode(shot["data"]))

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._commands)
        os.close(self._answers)
        self._profile.cleanup()

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        command = {"id": self._number, "method": method, "params": parameters, **self._session}
        os.write(self._commands, json.dumps(command).encode() + b"\0")
        while True:
            message = self._message()
            if message.get("id") == self._number:
                assert "error" not in message, message["error"]
                return message["result"]

    def _message(self) -> dict[str, Any]:
        deadline = time.monotonic() + WAIT
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._answers], [], [], deadline - time.monotonic())
            assert ready, "Chromium does not answer"
            received = os.read(self._answers, 1 << 20)
            assert received, "Chromium has ended"
            self._buffer += received
        text, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(text)

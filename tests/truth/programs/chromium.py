# SPDX-License-Identifier: Apache-2.0
"""Headless Chromium with a page open, spoken to over its pipe: the page's state lives on, its new memory is clean."""

import json
import os
import subprocess

from truth import checkpoint, done, equal

PAGE = """
<canvas id="kept" width="300" height="300"></canvas>
<script>
const kept = Array.from({ length: 100 }, (_, i) => new Uint8Array(65536).fill(i + 1));
const paper = document.getElementById("kept").getContext("2d", { willReadFrequently: true });
paper.fillStyle = "rgb(10, 20, 30)";
paper.fillRect(0, 0, 300, 300);
let ticks = 0, count = 0;
setInterval(() => ticks++, 10);

const isZero = (bytes) => new Uint32Array(bytes.buffer).every((word) => word === 0);

function dirt() {
  for (let round = 0; round < 40; round++) {
    for (let i = 0; i < 8; i++) {
      const array = new Uint8Array(65536);
      if (!isZero(array)) return `an array of round ${round} is dirty`;
      array.fill(255);
    }
    const canvas = new OffscreenCanvas(128, 128).getContext("2d", { willReadFrequently: true });
    if (!isZero(canvas.getImageData(0, 0, 128, 128).data)) return `a canvas of round ${round} is dirty`;
    canvas.fillRect(0, 0, 128, 128);
    gc();
  }
  return "";
}

function state() {
  const [red, green, blue] = paper.getImageData(150, 150, 1, 1).data;
  const whole = kept.every((array, i) => array.every((byte) => byte === i + 1));
  return [red, green, blue, whole, ++count];
}
</script>
"""


class Browser:
    """The DevTools protocol over descriptors 3 and 4: JSON that ends in a zero byte."""

    def __init__(self) -> None:
        to_browser, self.write = os.pipe()
        self.read, from_browser = os.pipe()
        command = (
            "exec chromium-headless-shell --no-sandbox --disable-gpu --disable-dev-shm-usage --disable-breakpad"
            " --js-flags=--expose-gc --remote-debugging-pipe --user-data-dir=/tmp/truth/profile about:blank"
            f" 3<&{to_browser} 4>&{from_browser}"
        )
        self.process = subprocess.Popen(["bash", "-c", command], pass_fds=(to_browser, from_browser))
        os.close(to_browser)
        os.close(from_browser)
        self.answers = os.fdopen(self.read, "rb", buffering=0)
        self.received = b""
        self.last = 0

    def call(self, method: str, session: str | None = None, **params: object) -> dict:
        self.last += 1
        message = {"id": self.last, "method": method, "params": params} | ({"sessionId": session} if session else {})
        os.write(self.write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.next()
            if answer.get("id") == self.last:
                equal(answer.get("error"), None)
                return answer["result"]

    def next(self) -> dict:
        while b"\0" not in self.received:
            piece = self.answers.read(65536)
            if not piece:
                raise EOFError("the browser has closed its pipe")
            self.received += piece
        line, self.received = self.received.split(b"\0", 1)
        return json.loads(line)


browser = Browser()
[target] = [t for t in browser.call("Target.getTargets")["targetInfos"] if t["type"] == "page"]
page = browser.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
frame = browser.call("Page.getFrameTree", page)["frameTree"]["frame"]["id"]
browser.call("Page.setDocumentContent", page, frameId=frame, html=PAGE)


def evaluate(expression: str) -> object:
    answer = browser.call("Runtime.evaluate", page, expression=expression, returnByValue=True, awaitPromise=True)
    equal(answer.get("exceptionDetails"), None)
    return answer["result"].get("value")


count = 0
while True:
    count += 1
    equal(evaluate("state()"), [10, 20, 30, True, count])
    equal(evaluate("dirt()"), "")
    ticks = evaluate("ticks")

    me = checkpoint()

    count += 1
    equal(evaluate("state()"), [10, 20, 30, True, count])
    equal(evaluate("dirt()"), "")
    equal(evaluate(f"new Promise((done) => {{ const wait = () => ticks > {ticks} ? done(true) : setTimeout(wait, 5); wait(); }})"), True)
    equal(evaluate(f"document.title = {json.dumps(me)}"), me)
    done()

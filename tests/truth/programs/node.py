# SPDX-License-Identifier: Apache-2.0
"""node with an http server, worker threads, and buffers that are zero when new."""

import http.client
import subprocess
import time

from truth import checkpoint, done, equal

PROGRAM = """
const { Worker } = require('node:worker_threads');
const kept = Array.from({ length: 200 }, (_, i) => Buffer.alloc(100000, i + 1));
const worker = new Worker("let n = 0; require('node:worker_threads').parentPort.on('message', (m) => " +
  "require('node:worker_threads').parentPort.postMessage(m + (++n)))", { eval: true });
let ticks = 0;
setInterval(() => ticks++, 10);
const fresh = () => {
  for (let round = 0; round < 30; round++) {
    const arrays = Array.from({ length: 50 }, () => new Uint8Array(65536));
    for (const array of arrays) { if (array.some((b) => b !== 0)) return 'dirty'; array.fill(255); }
    if (global.gc) gc();
  }
  return kept.every((b, i) => b.every((v) => v === i + 1)) ? 'clean' : 'lost';
};
require('node:http').createServer((request, response) => {
  if (request.url === '/memory') return response.end(fresh());
  if (request.url === '/ticks') return response.end(String(ticks));
  worker.once('message', (m) => response.end(m));
  worker.postMessage(request.url);
}).listen(3000, '127.0.0.1');
"""
subprocess.Popen(["node", "--expose-gc", "-e", PROGRAM])


def get(path: str, on: http.client.HTTPConnection) -> str:
    on.request("GET", path)
    return on.getresponse().read().decode()


def connect() -> http.client.HTTPConnection:
    until = time.monotonic() + 15
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", 3000)
        try:
            connection.connect()
            return connection
        except ConnectionRefusedError:
            if time.monotonic() > until:
                raise
            time.sleep(0.02)


connection = connect()
equal(get("/a", connection), "/a1")
before = int(get("/ticks", connection))

me = checkpoint()

equal(get("/" + me, connect()), f"/{me}2")
equal(get("/memory", connection), "clean")
time.sleep(0.1)
equal(int(get("/ticks", connection)) > before, True)
done()

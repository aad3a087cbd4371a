# SPDX-License-Identifier: Apache-2.0
"""node with an http server and worker threads; arrays, buffers and WebAssembly memory that are zero when new, in the workers too."""

import http.client
import subprocess
import time

from truth import HERE, checkpoint, done, equal

PROGRAM = """
const { Worker, isMainThread, parentPort } = require('node:worker_threads');

const zeros = Buffer.alloc(4 * 65536);

function dirt() {
  for (let round = 0; round < 20; round++) {
    const arrays = Array.from({ length: 20 }, () => new Uint8Array(65536));
    const buffers = Array.from({ length: 20 }, () => Buffer.alloc(65536));
    const memory = new Uint8Array(new WebAssembly.Memory({ initial: 4 }).buffer);
    for (const bytes of [...arrays, ...buffers, memory]) {
      if (zeros.compare(bytes, 0, bytes.length, 0, bytes.length) !== 0) return `dirty in round ${round}`;
      bytes.fill(255);
    }
    gc();
  }
  return 'clean';
}

if (!isMainThread) {
  let n = 0;
  parentPort.on('message', (m) => parentPort.postMessage(m === '/memory' ? dirt() : m + ++n));
} else {
  const kept = Array.from({ length: 200 }, (_, i) => Buffer.alloc(100000, i + 1));
  const workers = [new Worker(__filename), new Worker(__filename)];
  const ask = (worker, m) => new Promise((done) => { worker.once('message', done); worker.postMessage(m); });
  let ticks = 0;
  setInterval(() => ticks++, 10);
  const memory = async () => {
    const answers = await Promise.all([dirt(), ...workers.map((worker) => ask(worker, '/memory'))]);
    answers.push(kept.every((buffer, i) => buffer.equals(Buffer.alloc(100000, i + 1))) ? 'clean' : 'lost');
    return answers.join(' ');
  };
  const server = require('node:http').createServer(async (request, response) => {
    if (request.url === '/ticks') response.end(String(ticks));
    else if (request.url === '/memory') response.end(await memory());
    else response.end(await ask(workers[0], request.url));
  });
  server.keepAliveTimeout = 0; // the connection of before is there for as long as it takes
  server.listen(3000, '127.0.0.1');
}
"""
with open(HERE + "/server.js", "w") as file:
    file.write(PROGRAM)
subprocess.Popen(["node", "--expose-gc", HERE + "/server.js"])


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
answered = 0
while True:
    answered += 1
    equal(get("/a", connection), f"/a{answered}")
    before = int(get("/ticks", connection))

    me = checkpoint()

    answered += 1
    equal(get("/" + me, connect()), f"/{me}{answered}")
    equal(get("/memory", connection), "clean clean clean clean")
    time.sleep(0.1)
    equal(int(get("/ticks", connection)) > before, True)
    done()

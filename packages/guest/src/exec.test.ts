// SPDX-License-Identifier: Apache-2.0
import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TestSandbox, until } from "../testing/sandbox.ts";

let sandbox: TestSandbox;
beforeAll(async () => {
  sandbox = await TestSandbox.start();
});
afterAll(async () => {
  await sandbox[Symbol.asyncDispose]();
});

const alive = async (marker: string): Promise<boolean> => (await sandbox.sh(`pgrep -f '${marker}[.]' || true`)) !== "";

describe("a command", () => {
  test("has its exit code and its streams kept apart", async () => {
    const result = await sandbox.guest.exec({ shell: "echo out; echo err >&2; exit 7" });
    expect(result).toMatchObject({ exitCode: 7, signal: 0, timedOut: false, truncated: false });
    expect(result.stdout.toString()).toBe("out\n");
    expect(result.stderr.toString()).toBe("err\n");
  });

  test("gets its arguments as they are", async () => {
    const argv = ["printf", "%s|", "a b", "$HOME", "ü'\"", ""];
    const { stdout } = await sandbox.guest.exec({ argv });
    expect(stdout.toString()).toBe("a b|$HOME|ü'\"||");
  });

  test("that a signal ends reports the signal", async () => {
    expect(await sandbox.guest.exec({ shell: "kill -TERM $$" })).toMatchObject({ exitCode: 143, signal: 15 });
    expect(await sandbox.guest.exec({ shell: "kill -KILL $$" })).toMatchObject({ exitCode: 137, killedFromOutside: true });
  });

  test("that does not exist is exit code 127, one that cannot be executed 126", async () => {
    const missing = await sandbox.guest.exec({ argv: ["no-such-program"] });
    expect(missing.exitCode).toBe(127);
    expect(missing.stderr.toString()).toContain("no-such-program: not found");
    expect((await sandbox.guest.exec({ argv: ["/no/such/path"] })).exitCode).toBe(127);
    expect((await sandbox.guest.exec({ argv: ["/etc/passwd"] })).exitCode).toBe(126);
    expect((await sandbox.guest.exec({ argv: ["/tmp"] })).exitCode).toBe(126);
  });

  test("runs with the environment, directory and user asked for", async () => {
    const { stdout } = await sandbox.guest.exec({
      shell: "echo $A $HOME $(pwd) $(id -u):$(id -g)",
      env: { A: "1=2" },
      cwd: "/usr",
      user: "nobody",
    });
    expect(stdout.toString()).toBe("1=2 /nonexistent /usr 65534:65534\n");
    const numbers = await sandbox.guest.exec({ argv: ["id", "-u"], user: "1234:5678" });
    expect(numbers.stdout.toString()).toBe("1234\n");
    expect(await sandbox.guest.exec({ argv: ["id"], user: "nobody-of-this-name" })).toMatchObject({ exitCode: 126 });
    expect(await sandbox.guest.exec({ argv: ["id"], cwd: "/no/where" })).toMatchObject({ exitCode: 126 });
  });

  test("is a session leader without descriptors or signal settings of ours", async () => {
    const { stdout } = await sandbox.guest.exec({
      shell: "ls /proc/self/fd | wc -l; ps -o sid= -p $$ | tr -d ' '; echo $$; grep -E 'Sig(Blk|Ign)' /proc/self/status; umask",
    });
    const [fds, sid, pid, blocked, ignored, mask] = stdout.toString().split("\n");
    expect(fds).toBe("4"); // three and the one that ls opens
    expect(sid).toBe(pid);
    expect(blocked).toMatch(/SigBlk:\s0+$/);
    expect(ignored).toMatch(/SigIgn:\s0+$/);
    expect(mask).toBe("0022");
  });

  test("reads the given input, or end-of-file", async () => {
    const input = Buffer.alloc(3_000_000, "0123456789abcdef");
    const { stdout } = await sandbox.guest.exec({ argv: ["sha256sum"], stdin: input });
    expect(stdout.toString().slice(0, 64)).toBe(createHash("sha256").update(input).digest("hex"));
    expect((await sandbox.guest.exec({ argv: ["cat"] })).stdout.length).toBe(0);
    const early = await sandbox.guest.exec({ shell: "head -c 5", stdin: input });
    expect(early.stdout.toString()).toBe("01234");
  });

  test("delivers 16 MiB exactly", async () => {
    const hash = createHash("sha256");
    let bytes = 0;
    const result = await sandbox.guest.exec(
      { shell: "head -c 16777216 /dev/zero | tr '\\0' x" },
      { onStdout: (chunk) => void (hash.update(chunk), (bytes += chunk.length)) },
    );
    expect(result.exitCode).toBe(0);
    expect(bytes).toBe(16_777_216);
    expect(hash.digest("hex")).toBe(createHash("sha256").update(Buffer.alloc(16_777_216, "x")).digest("hex"));
  });

  test("is not held back by output beyond the cap, which is flagged", async () => {
    const result = await sandbox.guest.exec({ shell: "head -c 1000000 /dev/zero; echo end >&2" }, { maxOutputBytes: 1000 });
    expect(result).toMatchObject({ exitCode: 0, truncated: true, stdoutBytes: 1_000_000 });
    expect(result.stdout.length).toBe(1000);
  });

  test("returns although a background child holds its pipes, and the child lives on", async () => {
    const started = performance.now();
    const result = await sandbox.guest.exec({ shell: "(while true; do echo noise; sleep 0.01; done) & echo $!" });
    expect(performance.now() - started).toBeLessThan(3000);
    const pid = Number(result.stdout.toString().split("\n")[0]);
    expect(await sandbox.sh(`sleep 0.1; kill -0 ${pid} && echo alive; kill -9 ${pid}`)).toBe("alive\n");
    await until(async () => (await sandbox.guest.ping()).handlers === 1);
  });

  test("takes a signal from the client", async () => {
    const execution = await sandbox.guest.start(
      { shell: "trap 'echo caught; exit 3' USR1; echo up; while :; do sleep 0.05; done" },
      {
        onStdout: async (chunk) => {
          if (chunk.toString().includes("up")) await execution.kill(10);
        },
      },
    );
    expect((await execution.result).exitCode).toBe(3);
  });
});

describe("a time limit", () => {
  test("ends the whole tree, also what has left the session, and nothing else", async () => {
    await sandbox.sh("setsid sleep 301.1 >/dev/null 2>&1 &");
    const other = await sandbox.guest.start({ argv: ["sleep", "302.1"] });
    const result = await sandbox.guest.exec({
      shell: "echo partial; (setsid sh -c 'sleep 303.1 & setsid sleep 304.1 & wait' &); sleep 305.1",
      timeoutMs: 400,
    });
    expect(result).toMatchObject({ exitCode: 137, signal: 9, timedOut: true, killedFromOutside: false });
    expect(result.stdout.toString()).toBe("partial\n");
    for (const gone of ["sleep 303", "sleep 304", "sleep 305"]) expect(await alive(gone)).toBe(false);
    expect(await alive("sleep 301")).toBe(true);
    expect(await alive("sleep 302")).toBe(true);
    await other.kill(9);
    expect(await other.result).toMatchObject({ exitCode: 137, cancelled: true, timedOut: false });
    await sandbox.sh("pkill -f 'sleep 301[.]1' || true");
  });

  test("ends a tree that forks without pause", async () => {
    const result = await sandbox.guest.exec({
      argv: ["prlimit", "--nproc=60", "sh", "-c", "sh -c 'f() { sleep 306.1 & f & f; }; f' 2>/dev/null & exec sleep 306.1"],
      timeoutMs: 300,
      user: "61234:61234", // nobody else's, since the limit counts all processes of a user
    });
    expect(result.timedOut).toBe(true);
    await until(async () => !(await alive("sleep 306")));
  });
});

describe("a client that goes away", () => {
  test("ends the tree when the request asked for it", async () => {
    const abort = new AbortController();
    const execution = await sandbox.guest.start(
      { shell: "echo up; sleep 307.1", killOnDisconnect: true },
      { signal: abort.signal, onStdout: () => abort.abort() },
    );
    await expect(execution.result).rejects.toThrow("abort");
    await until(async () => !(await alive("sleep 307")));
  });

  test("leaves the command alone otherwise", async () => {
    const abort = new AbortController();
    const execution = await sandbox.guest.start({ shell: "echo up; sleep 308.1" }, { signal: abort.signal, onStdout: () => abort.abort() });
    await expect(execution.result).rejects.toThrow("abort");
    expect(await alive("sleep 308")).toBe(true);
    await sandbox.sh("pkill -f 'sleep 308[.]1' || true");
  });
});

test("64 commands run side by side", async () => {
  const results = await Promise.all(Array.from({ length: 64 }, (_, i) => sandbox.guest.exec({ shell: `sleep 0.2; echo ${i}; exit ${i}` })));
  expect(results.map((one) => one.exitCode)).toEqual(Array.from({ length: 64 }, (_, i) => i));
  expect(results.map((one) => one.stdout.toString())).toEqual(Array.from({ length: 64 }, (_, i) => `${i}\n`));
});

test("commands do not inherit what init is to the OOM killer", async () => {
  await writeFile(`/proc/${sandbox.pid}/oom_score_adj`, "300");
  expect(await sandbox.sh("cat /proc/1/oom_score_adj /proc/self/oom_score_adj")).toBe("300\n0\n");
  expect(await sandbox.py("print(open('/proc/self/oom_score_adj').read(), end='')")).toBe("0\n");
});

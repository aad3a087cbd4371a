// SPDX-License-Identifier: Apache-2.0
/** Signs of life of long steps. All of it goes to standard error: standard output belongs to results. */

const TICK_MS = 1_000;
/** Without a terminal (a CI log), one line this often is enough. */
const QUIET_TICK_MS = 15_000;

export interface Step {
  /** What it is busy with right now, shown beside the title. */
  note(text: string): void;
}

/** Runs a step under a title: a running clock while it lasts, a tick or a cross at its end. */
export async function step<T>(title: string, work: (step: Step) => Promise<T>, out: NodeJS.WriteStream = process.stderr): Promise<T> {
  const began = performance.now();
  let note = "";
  let told = began;
  const tick = (): void => {
    const now = performance.now();
    if (out.isTTY) out.write(`\r\u001b[K${cut(`  … ${title} ${clock(now - began)}  ${note}`, out.columns)}`);
    else if (now - told >= QUIET_TICK_MS) {
      told = now;
      out.write(`  … ${title} (${seconds(now - began)}) ${note}\n`);
    }
  };
  const timer = setInterval(tick, TICK_MS);
  if (out.isTTY) tick();
  const finish = (sign: string): void => {
    clearInterval(timer);
    out.write(`${out.isTTY ? "\r\u001b[K" : ""}  ${sign} ${title} (${seconds(performance.now() - began)})\n`);
  };
  try {
    const result = await work({ note: (text) => (note = printable(text)) });
    finish("✓");
    return result;
  } catch (error) {
    finish("✗");
    throw error;
  }
}

export function say(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** Text from programs, made safe for a terminal: no control characters, one line, bounded. */
export function printable(text: string): string {
  return text
    .replace(/\p{Cc}+/gu, " ")
    .trim()
    .slice(0, 200);
}

function cut(text: string, columns: number): string {
  return text.length < columns ? text : text.slice(0, Math.max(1, columns - 1));
}

function clock(ms: number): string {
  const whole = Math.floor(ms / 1_000);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}

function seconds(ms: number): string {
  return ms < 9_950 ? `${(ms / 1_000).toFixed(1)} s` : `${Math.round(ms / 1_000)} s`;
}

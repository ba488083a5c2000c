/**
 * Finds what a process must never log, whatever happens to its database: secrets, payloads, unexpected errors, and too
 * many lines.
 */
import type { Fault } from '../harness/ledger.ts';
import { marker } from '../harness/receivers.ts';

export type LogLine = { time: number; message: string };

/** The lines of a log; the last one of a killed process may be cut off. */
export function readLog(stdout: string): LogLine[] {
  return stdout
    .split('\n')
    .slice(0, -1)
    .filter((line) => line.startsWith('{'))
    .map((line) => {
      const { time, msg } = JSON.parse(line) as { time: string; msg: string };
      return { time: Date.parse(time), message: msg };
    });
}

/** Returns the secrets and payloads in an output. `secrets` come on top of those that any webhook has. */
export function findLeaks(output: string, secrets: string[]): string[] {
  const forbidden = ['whsec_', marker, ...secrets];
  return forbidden
    .filter((text) => output.includes(text))
    .map((text) => `an output holds ${text}: ${around(output, text)}`);
}

/** The most lines within any second of a fault, except the one line per attempt. */
export function busiestSecond(lines: LogLine[], { from, until }: Fault): number {
  const counts = new Map<number, number>();
  for (const { time, message } of lines) {
    if (time < from || time > until || message === 'delivery.attempted') continue;
    const second = Math.floor((time - from) / 1000);
    counts.set(second, (counts.get(second) ?? 0) + 1);
  }
  return Math.max(0, ...counts.values());
}

function around(output: string, text: string): string {
  const at = output.indexOf(text);
  return output.slice(Math.max(0, at - 200), at + text.length);
}

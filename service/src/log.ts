/** Structured logs: one JSON line per unit of work, readable lines on a terminal. */
import { pino, type Logger } from 'pino';

export type { Logger };

/**
 * Lines are written together, a tenth of a second late at most and at the end of the process: a system call for each
 * took as long as signing and sending a delivery.
 */
const gathered = {
  dest: 1,
  sync: false,
  minLength: 16_000,
  periodicFlush: 100,
  // Where nobody reads them, lines are dropped before they fill the memory.
  maxLength: 16 * 1024 * 1024,
};

const pretty = process.stdout.isTTY ? (await import('pino-pretty')).default : null;

/** Rendered once a millisecond: a busy worker writes several lines in each. */
let renderedAt = 0;
let rendered = '';

function timestamp(): string {
  const now = Date.now();
  if (now !== renderedAt) {
    renderedAt = now;
    rendered = `,"time":"${new Date(now).toISOString()}"`;
  }
  return rendered;
}

/** Logs to standard output. Keys and secrets never reach a log; what might hold one is cut here too. */
export function createLogger(level: string): Logger {
  const options = {
    level,
    base: { pid: process.pid },
    timestamp,
    redact: ['req.headers.authorization', 'req.headers["x-api-key"]', '*.secret', '*.password'],
  };
  if (!pretty) return pino(options, pino.destination(gathered));
  return pino(
    options,
    pretty({
      colorize: true,
      ignore: 'pid,hostname',
      singleLine: true,
      translateTime: 'SYS:HH:MM:ss.l',
      sync: true,
    }),
  );
}

/** Structured logs: one JSON line per unit of work, readable lines on a terminal. */
import { pino, type Logger } from 'pino';

export type { Logger };

// Lines are written together: a busy worker logs thousands per second, and each write costs more than a line.
const writtenBytesMin = 64 * 1024;
const writeBytesMax = 4 * writtenBytesMin;
const flushEveryMs = 100;
// If nobody reads the lines, they are dropped before they fill the memory.
const bufferBytesMax = 16 * 1024 * 1024;

const pretty = process.stdout.isTTY ? (await import('pino-pretty')).default : null;

/** Logs to standard output. Callers never log keys and secrets; fields that might hold one are redacted here too. */
export function createLogger(level: string): Logger {
  const options = {
    level,
    base: { pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: ['req.headers.authorization', 'req.headers["x-api-key"]', '*.secret', '*.password'],
  };
  if (!pretty)
    return pino(
      options,
      pino.destination({
        dest: 1,
        sync: false,
        minLength: writtenBytesMin,
        periodicFlush: flushEveryMs,
        maxWrite: writeBytesMax,
        maxLength: bufferBytesMax,
      }),
    );
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

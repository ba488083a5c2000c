/** Structured logs: one JSON line per unit of work, readable lines on a terminal. */
import { pino, type Logger } from 'pino';
import pretty from 'pino-pretty';

export type { Logger };

/** Logs to standard output. Keys and secrets never reach a log; what might hold one is cut here too. */
export function createLogger(level: string): Logger {
  const options = {
    level,
    base: { pid: process.pid },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    redact: ['req.headers.authorization', 'req.headers["x-api-key"]', '*.secret', '*.password'],
  };
  if (!process.stdout.isTTY) return pino(options);
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

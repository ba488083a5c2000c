/** Structured logs: one JSON line per unit of work, readable lines on a terminal. */
import { pino, type Logger } from 'pino';

export type { Logger };

/** Lines are written together: a system call for each took as long as signing and sending a delivery. */
const gatheredCharsMin = 64_000;
const gatheredMsMax = 100;
// Where nobody reads them, lines are dropped before they fill the memory.
const waitingBytesMax = 16 * 1024 * 1024;

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
  if (!pretty)
    return pino(
      options,
      gatherLines(pino.destination({ dest: 1, sync: false, maxLength: waitingBytesMax })),
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

type Destination = ReturnType<typeof pino.destination>;

/** Put together before they are handed on: for each piece it is given, the destination counts anew what it holds. */
function gatherLines(destination: Destination): { write(line: string): void } {
  let text = '';
  let timer: NodeJS.Timeout | undefined;

  function handOn(): void {
    clearTimeout(timer);
    timer = undefined;
    if (text !== '') destination.write(text);
    text = '';
  }

  // Before the destination writes what it holds, at the end of the process.
  process.prependListener('beforeExit', handOn);
  process.prependListener('exit', handOn);
  return {
    write(line) {
      text += line;
      if (text.length >= gatheredCharsMin) handOn();
      else timer ??= setTimeout(handOn, gatheredMsMax).unref();
    },
  };
}

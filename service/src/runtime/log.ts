/** Structured logs: one JSON line per unit of work, readable lines on a terminal. */
import { pino, type Logger } from 'pino';

export type { Logger };

/** Lines are written in batches: a system call for each took as long as signing and sending a delivery. */
const batchCharsMin = 64_000;
const batchMsMax = 100;
// If nobody reads the lines, they are dropped before they fill the memory.
const bufferBytesMax = 16 * 1024 * 1024;

const streamSymbol = pino.symbols.streamSym;

const pretty = process.stdout.isTTY ? (await import('pino-pretty')).default : null;

/** Logs to standard output. Callers never log keys and secrets; fields that might hold one are redacted here too. */
export function createLogger(level: string): Logger {
  const options = {
    level,
    base: { pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: ['req.headers.authorization', 'req.headers["x-api-key"]', '*.secret', '*.password'],
  };
  if (!pretty) return pino(options, batchLines(openOutput()));
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

/** A full disk ends the log, not the service. It goes on once there is room. */
function openOutput(): Destination {
  const output = pino.destination({ dest: 1, sync: false, maxLength: bufferBytesMax });
  let isFull = false;
  output.on('error', () => (isFull = true));
  output.on('drain', () => (isFull = false));
  const flush = output.flush.bind(output);
  const flushSync = output.flushSync.bind(output);
  // Otherwise a process that ends would try for ever.
  output.flush = (done) => void (isFull || flush(done));
  output.flushSync = () => void (isFull || flushSync());
  return output;
}

/** Writes lines that another process logged with `createLogger`, next to those of `log`. */
export function writeLines(log: Logger, lines: string): void {
  const stream = (log as unknown as Record<symbol, Pick<Destination, 'write'>>)[streamSymbol];
  stream?.write(lines);
}

type Destination = ReturnType<typeof pino.destination>;

/** Of all logs of the process: it has one listener for them. */
const flushes: (() => void)[] = [];

function flushAll(): void {
  for (const flush of flushes) flush();
}

/**
 * Joins lines before the destination gets them. It counts its whole buffer again for each line: with its own `minLength`
 * that took 4 to 10 of the 98 µs that the thread spends on a delivery.
 */
function batchLines(destination: Destination): { write(line: string): void } {
  let text = '';
  let timer: NodeJS.Timeout | undefined;

  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    if (text !== '') destination.write(text);
    text = '';
  }

  // Runs before the destination flushes at the end of the process.
  if (flushes.push(flush) === 1) {
    process.prependListener('beforeExit', flushAll);
    process.prependListener('exit', flushAll);
  }
  return {
    write(line) {
      text += line;
      if (text.length >= batchCharsMin) flush();
      else timer ??= setTimeout(flush, batchMsMax).unref();
    },
  };
}

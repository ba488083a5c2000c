/** Writes the log line of an attempt. It has exactly these fields, and none of them is secret. */
import { pino } from 'pino';
import type { Logger } from '../../log.ts';
import type { AttemptOutcome } from './attempt.ts';
import type { Deliverable } from './deliverable.ts';
import type { Verdict } from './retry.ts';
import { urlHost } from './url-host.ts';

/** The parts from which `pino` builds a line. */
type Inside = {
  [pino.symbols.lsCacheSym]: Record<number, string>;
  [pino.symbols.timeSym]: () => string;
  [pino.symbols.chindingsSym]: string;
  [pino.symbols.streamSym]: { write(line: string): void };
};

const info = 30;

/**
 * Builds the line by hand, because letting pino inspect and redact each field takes longer than signing the delivery.
 */
export function logAttempt(
  log: Logger,
  delivery: Deliverable,
  { statusCode, error, durationMs }: AttemptOutcome,
  verdict: Verdict['kind'],
): void {
  if (!log.isLevelEnabled('info')) return;
  const { symbols } = pino;
  const inside = log as unknown as Inside;
  const start = `${inside[symbols.lsCacheSym][info]}${inside[symbols.timeSym]()}${inside[symbols.chindingsSym]}`;
  // Logs only the host: a path or query may contain the owner's token.
  const host = JSON.stringify(urlHost(delivery.url));
  const shownError = error === null ? 'null' : `"${error}"`;
  inside[symbols.streamSym].write(
    `${start},"deliveryId":"${delivery.id}","webhookId":"${delivery.webhookId}","event":${JSON.stringify(delivery.event)},"trigger":"${delivery.trigger}","host":${host},"attempt":${delivery.number},"statusCode":${statusCode},"error":${shownError},"durationMs":${durationMs},"verdict":"${verdict}","msg":"delivery.attempted"}\n`,
  );
}

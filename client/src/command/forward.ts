/** Sends a signed event to a handler on this machine, as the service would send a delivery: one POST, no redirect, one deadline. */
import { request as requestHttp, type IncomingMessage } from 'node:http';
import { request as requestHttps } from 'node:https';
import { performance } from 'node:perf_hooks';
import { signWebhook } from '../sign-webhook.ts';
import { escapeControls, escapeLines, toJsonLine } from './escape-controls.ts';
import type { EventText } from './follow-stream.ts';
import { packageVersion } from './package-files.ts';

export type Forwarding = { target: URL; secret: string; serviceName: string; signal?: AbortSignal };
export type ForwardReport = {
  type: 'response';
  id: string;
  event: string;
  /** Null without a response. */
  status: number | null;
  durationMs: number;
  /** The beginning of the response's body, or why there is no response. */
  body: string;
};

/** The service's default: docs/reference/deliveries.md#respond. */
export const deadlineMs = 10_000;
const bodyBytesMax = 16 * 1024;
const linesMax = 10;

export async function forward(
  { id, event, text }: EventText,
  { target, secret, serviceName, signal }: Forwarding,
): Promise<ForwardReport> {
  const { headers, body } = await signWebhook({ body: text, secret, serviceName });
  headers['user-agent'] = `${serviceName}-Webhooks/${packageVersion()}`;
  const startedAt = performance.now();
  const outcome = await post(target, headers, body, signal).catch(
    (error: NodeJS.ErrnoException) => {
      signal?.throwIfAborted();
      // Where a name has several addresses, the error is a list of theirs, without a message.
      return { status: null, body: error.message || String(error.code) };
    },
  );
  const durationMs = Math.round(performance.now() - startedAt);
  return { type: 'response', id, event, ...outcome, durationMs };
}

/** A new connection each time: a handler that was restarted would have closed an old one. */
function post(
  target: URL,
  headers: Record<string, string>,
  body: string,
  signal: AbortSignal | undefined,
): Promise<{ status: number; body: string }> {
  const send = target.protocol === 'https:' ? requestHttps : requestHttp;
  return new Promise((resolve, reject) => {
    const bytes = Buffer.from(body);
    const sent = { ...headers, 'content-length': bytes.length };
    const request = send(target, {
      method: 'POST',
      headers: sent,
      agent: false,
      ...(signal && { signal }),
    });
    const timer = setTimeout(
      () => request.destroy(new Error(`no response within ${deadlineMs / 1000} s`)),
      deadlineMs,
    );
    request.once('response', (response) => {
      const { statusCode: status = 0 } = response;
      // A body that breaks off changes nothing: the status has arrived.
      resolve(
        readStart(response)
          .catch(() => '')
          .then((text) => ({ status, body: text })),
      );
    });
    request.once('close', () => clearTimeout(timer));
    request.on('error', reject);
    request.end(bytes);
  });
}

async function readStart(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > bodyBytesMax) break;
  }
  return Buffer.concat(chunks).subarray(0, bodyBytesMax).toString('utf8');
}

export function printReport(report: ForwardReport, json: boolean): void {
  console.log(json ? toJsonLine(report) : formatReport(report));
}

function formatReport({ event, id, status, durationMs, body }: ForwardReport): string {
  const result = status === null ? 'no response' : String(status);
  const head = escapeControls(
    `${new Date().toISOString()}  ${event}  ${id}  ${result} in ${durationMs} ms`,
  );
  const lines = body.trimEnd().split(/\r?\n/);
  const shown = lines.slice(0, linesMax).join('\n');
  const rest = lines.length > linesMax ? `\n  … and ${lines.length - linesMax} more lines` : '';
  return shown === '' ? head : `${head}\n${escapeLines(shown).replaceAll(/^/gm, '  ')}${rest}`;
}

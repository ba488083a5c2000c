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

/** The service's default, until the status: docs/reference/deliveries.md#respond. */
export const deadlineMs = 10_000;
/** How long it reads what comes after the status, because the next events wait. */
const bodyMs = 1_000;
const bodyBytesMax = 16 * 1024;
const linesMax = 10;

export async function forward(
  { id, event, text }: EventText,
  { target, secret, serviceName, signal }: Forwarding,
): Promise<ForwardReport> {
  const { headers, body } = await signWebhook({ body: text, secret, serviceName });
  headers['user-agent'] = `${serviceName}-Webhooks/${packageVersion()}`;
  const startedAt = performance.now();
  const elapsed = () => Math.round(performance.now() - startedAt);
  try {
    const response = await post(target, headers, body, signal);
    const { statusCode: status = 0 } = response;
    return {
      type: 'response',
      id,
      event,
      status,
      durationMs: elapsed(),
      body: await readStart(response),
    };
  } catch (error) {
    signal?.throwIfAborted();
    // Where a name has several addresses, the error is a list of theirs, without a message.
    const { message, code } = error as NodeJS.ErrnoException;
    const reason = message || String(code);
    return { type: 'response', id, event, status: null, durationMs: elapsed(), body: reason };
  }
}

/** A new connection each time: a handler that was restarted would have closed an old one. */
function post(
  target: URL,
  headers: Record<string, string>,
  body: string,
  signal: AbortSignal | undefined,
): Promise<IncomingMessage> {
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
      clearTimeout(timer);
      resolve(response);
    });
    request.once('close', () => {
      clearTimeout(timer);
      // Nothing else tells of a 101, with which the connection would become another one.
      reject(new Error('the connection was closed without a response'));
    });
    request.on('error', reject);
    request.end(bytes);
  });
}

async function readStart(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const timer = setTimeout(() => response.destroy(), bodyMs);
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > bodyBytesMax) break;
    }
  } catch {
    // A body that breaks off changes nothing: the status has arrived.
  } finally {
    clearTimeout(timer);
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

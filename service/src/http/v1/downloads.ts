/** Operations that return everything public of a kind at once. Callers share its bytes: `directory/downloads.ts`. */
import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { examples } from '../../contract/examples.ts';
import type { Database } from '../../database/database.ts';
import type { Revisions } from '../../database/revisions.ts';
import { Downloads, type Download } from '../../directory/downloads.ts';
import type { SlugTable } from '../../directory/lock-directory.ts';
import { ServiceError } from '../../errors.ts';
import type { SealedCursors } from '../../events/cursors.ts';
import { callerOf } from '../admission/admit.ts';
import { KeyCounter, type KeyCounterDependencies } from '../admission/key-counter.ts';
import { secondsUntil } from '../admission/rate-limit.ts';
import { mountOperations, operationFor } from '../operations.ts';
import { linesOf } from '../responses/responses.ts';
import { preferredCoding, tagOf } from '../responses/codings.ts';
import { findTag, keyedCacheControl } from '../responses/send-entry.ts';
import { keyedSurface } from './surface.ts';

export type DownloadDependencies = KeyCounterDependencies & {
  database: Database;
  revisions: Pick<Revisions, 'current'>;
  publicUrl: string;
  rateLimitPerMinute: number;
};
type DownloadContext = { downloads: Downloads; count: (request: FastifyRequest) => Promise<void> };

/** Of an app, over all its keys and all three lists. */
export const downloadsPerMinute = 6;

export function registerDownloads(
  app: FastifyInstance,
  dependencies: DownloadDependencies,
  cursors: SealedCursors,
): void {
  const context = {
    downloads: new Downloads({ ...dependencies, cursors, log: app.log }),
    count: createCounter(dependencies),
  };
  const surface = { ...keyedSurface('read:directory'), contextOf: () => context };
  for (const [tag, operation] of operations) mountOperations(app, surface, tag, [operation]);
}

const operations = [
  ['Organisations', downloadOperation('orgs', 'organisations', examples.organisation)],
  ['Alliances', downloadOperation('alliances', 'alliances', examples.alliance)],
  ['Blueprints', downloadOperation('blueprints', 'blueprints', examples.blueprint)],
] as const;

function downloadOperation(kind: SlugTable, noun: string, example: object) {
  return operationFor<DownloadContext>()({
    operationId: `download${kind.charAt(0).toUpperCase()}${kind.slice(1)}`,
    method: 'GET',
    path: `/${kind}.ndjson`,
    summary: `Download all ${noun}`,
    description: `Returns all public ${noun}, one JSON object per line, at most a minute old, and the cursor from which changes go on. An app may do so ${downloadsPerMinute} times per minute. A list that is too large for a download is \`payload_too_large\`: read its pages.`,
    returns: { 200: `All ${noun}.` },
    response: linesOf(`NDJSON: the ${noun} in the order of their ids.`, example),
    errors: ['payload_too_large'],
    async run({ downloads, count, request, reply }) {
      await count(request);
      const download = await downloads.get(kind);
      return () => send(download, request, reply);
    },
  });
}

function send(download: Download, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const coding = preferredCoding(request.headers['accept-encoding'], ['gzip']);
  const tag = `"${download.etag}"`;
  reply.headers({
    vary: 'Accept-Encoding',
    'cache-control': keyedCacheControl,
    'x-next-cursor': download.nextCursor,
  });
  const seen = request.headers['if-none-match'];
  const matched = seen === undefined ? null : findTag(seen, tag);
  if (matched !== null) return reply.header('etag', matched).code(304).send();
  reply.headers({
    etag: coding ? tagOf(tag, coding) : tag,
    'content-type': 'application/x-ndjson; charset=utf-8',
    'content-length': coding ? download.gzipBytes : download.textBytes,
    ...(coding && { 'content-encoding': coding }),
  });
  return reply.send(download.read(coding !== null || request.method === 'HEAD'));
}

function createCounter({ rateLimitPerMinute, ...dependencies }: DownloadDependencies) {
  const counter = rateLimitPerMinute > 0 ? new KeyCounter(downloadsPerMinute, dependencies) : null;
  return async (request: FastifyRequest): Promise<void> => {
    const usage = await counter?.count(countedAs(callerOf(request).appId));
    if (!usage?.exceeded) return;
    const message = `Rate limit exceeded: ${downloadsPerMinute} downloads per minute with all keys of the app.`;
    throw new ServiceError('rate_limited', message, {
      headers: { 'retry-after': String(secondsUntil(usage.resetAt)) },
    });
  };
}

/** An id that differs from the app's, whose other requests are counted too. */
function countedAs(appId: string): string {
  const hex = createHash('sha256').update(`downloads of ${appId}`).digest('hex');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*/, '$1-$2-$3-$4-$5');
}

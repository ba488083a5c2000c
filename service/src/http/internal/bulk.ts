/**
 * Operations that write many rows at once: a stream of lines, stored as it arrives, in one transaction. `orgdir import`
 * runs the same code, `directory/import.ts`.
 */
import type { IncomingMessage } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { nameActor } from '../../access/audit-log.ts';
import { envelope } from '../../contract/envelope.ts';
import { examples } from '../../contract/examples.ts';
import { strictObject, text } from '../../contract/shapes.ts';
import { sql } from '../../database/database.ts';
import { ExistingNamesError } from '../../directory/existing-names.ts';
import {
  BadLinesError,
  importLines,
  tidyAfterImport,
  type ImportKind,
  type ImportOptions,
  type ImportResult,
} from '../../directory/import.ts';
import { readNdjson, type SourceLine } from '../../directory/import-source.ts';
import { invalid, ServiceError } from '../../errors.ts';
import { refuseEncoding } from '../json-bodies.ts';
import { mountOperations, type Surface } from '../operations.ts';
import { oneOf } from '../responses/responses.ts';
import { operation, type InternalContext } from './surface.ts';
import { tooLarge } from '../responses/send-error.ts';

/** More rows need several requests. */
export const rowsMax = 100_000;
/** Allows 2.5 KiB per row, several times the average. */
export const bytesMax = 256 * 1024 * 1024;
/** Longer than the listener allows a request to take. `receive` ends a silent request much sooner. */
const idleInTransactionMs = 660_000;
const mediaType = 'application/x-ndjson';

const BulkQuery = strictObject({
  skipBad: Type.Boolean({
    default: false,
    description: 'Skip invalid lines. Otherwise one invalid line rejects the whole request.',
  }),
  allowDuplicates: Type.Boolean({
    default: false,
    description:
      'Create entries without a slug even if their names are already in the directory. Otherwise one such line rejects the whole request, so that a request that is sent twice is stored once. Blueprints are known by their keys and ignore it.',
  }),
  emitEvents: Type.Boolean({
    default: true,
    description:
      'Send events of the entries that become public or change. Set it to false for the first load.',
  }),
});

const BulkResult = strictObject(
  {
    created: Type.Integer({ description: 'The number of entries that were created.' }),
    updated: Type.Integer({ description: 'The number of entries that were replaced.' }),
    bad: Type.Integer({ description: 'The number of lines that were skipped.' }),
    badLines: Type.Array(
      strictObject({
        line: Type.Integer({ description: 'The number of the line, starting at 1.' }),
        reason: Type.String({ description: 'Why the line is invalid.' }),
      }),
      { description: 'The first 1,000 skipped lines.' },
    ),
  },
  { title: 'BulkResult', description: 'The result of a bulk write.' },
);

const resultExample = { created: 1, updated: 0, bad: 0, badLines: [] };

/** A separate scope, because these operations read their bodies themselves. */
export async function registerBulk(
  v1: FastifyInstance,
  surface: Surface<InternalContext>,
): Promise<void> {
  await v1.register(async (bulk) => {
    bulk.removeAllContentTypeParsers();
    bulk.addContentTypeParser(mediaType, (request, payload, done) =>
      done(refuseEncoding(request), payload),
    );
    bulk.addContentTypeParser('*', (_request, _payload, done) =>
      done(new ServiceError('unsupported_media_type', `The body must be ${mediaType}.`)),
    );
    const streaming = { ...surface, config: { ...surface.config, endsUnfinishedBodies: true } };
    mountOperations(bulk, streaming, 'Organisations', [putOrgs]);
    mountOperations(bulk, streaming, 'Alliances', [putAlliances]);
    mountOperations(bulk, streaming, 'Blueprints', [putBlueprints]);
  });
}

const putOrgs = bulkOperation('orgs', 'organisations', {
  slug: 'acme-corporation',
  ...examples.orgInput,
});
const { orgs: _, ...alliance } = examples.allianceInput;
const putAlliances = bulkOperation('alliances', 'alliances', {
  slug: 'northern-league',
  ...alliance,
});
const putBlueprints = bulkOperation('blueprints', 'blueprints', {
  key: 'granite',
  ...examples.blueprintInput,
});

function bulkOperation(kind: ImportKind, noun: string, line: object) {
  const idField = kind === 'blueprints' ? 'key' : 'slug';
  return operation({
    operationId: `put${kind.charAt(0).toUpperCase()}${kind.slice(1)}`,
    method: 'PUT',
    path: `/${kind}`,
    summary: `Create or replace many ${noun}`,
    description: `Up to ${rowsMax} lines, each a JSON object with the fields of \`PUT\` and \`${idField}\`. A line replaces the entry with the same \`${idField}\`, or creates one. No entry is deleted. If a line is invalid, nothing is stored, unless \`skipBad\` is true.`,
    query: BulkQuery,
    body: text('NDJSON.', `${JSON.stringify(line)}\n`),
    // The body is a stream; each line is validated when it arrives.
    ownBody: { bytesMax, consumes: [mediaType] },
    returns: { 200: 'The result.' },
    response: oneOf(BulkResult, 'BulkResultResponse', resultExample),
    errors: ['conflict'],
    async run({ request, query, ...context }) {
      refusePreconditions(request);
      const lines = atMost(rowsMax, readNdjson(receive(bodyOf(request), bytesMax)));
      return envelope(await store(lines, { kind, ...query }, context));
    },
  });
}

async function store(
  lines: AsyncIterable<SourceLine>,
  options: Omit<ImportOptions, 'publicUrl'>,
  { change, writes, publicUrl, actor }: InternalContext,
): Promise<ImportResult> {
  try {
    const result = await change(async (tx) => {
      await sql`
        set local idle_in_transaction_session_timeout = ${sql.lit(idleInTransactionMs)}
      `.execute(tx);
      await nameActor(tx, actor);
      return importLines(tx, lines, { ...options, publicUrl });
    });
    await tidyAfterImport(writes, options.kind, result);
    return result;
  } catch (error) {
    if (error instanceof BadLinesError) throw badLinesError(error.result);
    throw error instanceof ExistingNamesError ? existingNamesError(error) : error;
  }
}

/** Preconditions apply to one entry, and this request writes many. */
function refusePreconditions({ headers }: FastifyRequest): void {
  for (const name of ['if-match', 'if-none-match']) {
    if (headers[name] !== undefined)
      throw invalid({ path: `headers.${name}`, message: 'is only allowed when writing one entry' });
  }
}

function bodyOf({ body }: FastifyRequest): IncomingMessage {
  if (body === undefined)
    throw invalid({ path: 'body', message: 'is required: a line of JSON for each row' });
  return body as IncomingMessage;
}

async function* atMost(max: number, lines: AsyncIterable<SourceLine>): AsyncGenerator<SourceLine> {
  let rows = 0;
  for await (const line of lines) {
    rows += 1;
    if (rows > max)
      throw new ServiceError(
        'payload_too_large',
        `A request can have at most ${max} rows. Send the others in further requests.`,
        { details: { rowsMax: max } },
      );
    yield line;
  }
}

function badLinesError({ bad, badLines }: ImportResult): ServiceError {
  const issues = badLines.map(({ line, reason }) => ({ path: `line ${line}`, message: reason }));
  return new ServiceError(
    'validation_failed',
    `Nothing was stored: ${bad} bad ${bad === 1 ? 'line' : 'lines'}.`,
    { details: { bad, issues } },
  );
}

function existingNamesError({ message, details }: ExistingNamesError): ServiceError {
  return new ServiceError(
    'conflict',
    `Nothing was stored: ${message}. To replace these entries, add their slugs; to create more with the same names, set allowDuplicates=true.`,
    { details },
  );
}

/** Other writers wait while this request is idle. */
export const pauseMsMax = 10_000;

/**
 * Yields a request body in chunks while they arrive, without buffering it.
 * Throws `validation_failed` if the connection closes or stalls, `payload_too_large` beyond `most` bytes.
 */
export async function* receive(
  request: IncomingMessage,
  most: number,
  pauseMs = pauseMsMax,
): AsyncGenerator<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > most) throw tooLarge(most);
  // Not destroyed if the reader ends early: that would cut the connection before the response.
  const chunks = request.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer>;
  let bytes = 0;
  try {
    for (;;) {
      const { done, value } = await nextOf(chunks, pauseMs);
      if (done) return;
      bytes += value.length;
      if (bytes > most) throw tooLarge(most);
      yield value;
    }
  } finally {
    // The rest of the body is discarded, so that the caller gets to read the response.
    request.resume();
  }
}

async function nextOf(
  chunks: AsyncIterator<Buffer>,
  pauseMs: number,
): Promise<IteratorResult<Buffer>> {
  const finished = new AbortController();
  const stalled = wait(pauseMs, 'stalled' as const, { signal: finished.signal, ref: false });
  // If a chunk comes first, nobody awaits this promise, and its rejection would end the process.
  stalled.catch(() => {});
  try {
    const next = await Promise.race([chunks.next(), stalled]);
    if (next === 'stalled') throw stalledBody(pauseMs);
    return next;
  } catch (error) {
    const { code = '' } = error as { code?: string };
    throw cutCodes.has(code) ? cutOff(error) : error;
  } finally {
    finished.abort();
  }
}

const cutCodes = new Set(['ECONNRESET', 'ERR_STREAM_PREMATURE_CLOSE']);

function stalledBody(pauseMs: number): Error {
  return invalid({
    path: 'body',
    message: `must arrive without pauses of ${pauseMs / 1000} seconds`,
  });
}

function cutOff(cause: unknown): Error {
  const error = invalid({ path: 'body', message: 'ended early' });
  error.cause = cause;
  return error;
}

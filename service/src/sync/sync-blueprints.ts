/**
 * Performs one run of the blueprint sync: source → rows → stage → merge and event. An incomplete or implausible source
 * changes nothing; the run is recorded as failed with the reason.
 */
import type { SyncRun } from '../contract/sync-run.ts';
import type { ConnectionSettings, Database, Transaction } from '../database/database.ts';
import { sql } from '../database/database.ts';
import { tidyAfterImport } from '../directory/import.ts';
import { createHttpClient } from './http-client.ts';
import { mergeBlueprints } from './merge-blueprints.ts';
import { openSource, type OpenedSource, type SourceState } from './open-source.ts';
import { performRun, type CompleteRun, type DueTime, type RunOutcome } from './perform-run.ts';
import type { StartedBy } from './runs.ts';
import { readRows } from './read-rows.ts';
import { lastValidators, type Completion, type Validators } from './runs.ts';
import {
  locationFingerprint,
  locationName,
  publicLocationName,
  type SourceLocation,
} from './source-location.ts';
import { stageBlueprints } from './stage-blueprints.ts';

export type BlueprintSyncRequest = StartedBy & {
  location: SourceLocation;
  trigger: SyncRun['trigger'];
  /**
   * Continues even if more than half of the active blueprints would be retired, and reads the source whatever its ETag.
   */
  force: boolean;
  /** Skips bad rows. */
  skipBad: boolean;
  publicUrl: string;
  userAgent: string;
  /** The time from the request to the last byte; ten minutes. */
  timeoutMs?: number;
  signal: AbortSignal;
  onStart?: (run: SyncRun) => void;
  onProgress?: (readBytes: number) => void;
  due?: DueTime;
};

type Content = Extract<OpenedSource, { kind: 'content' }>;
type Last = Awaited<ReturnType<typeof lastValidators>>;

export const timeoutMs = 10 * 60_000;

export async function syncBlueprints(
  connection: ConnectionSettings,
  request: BlueprintSyncRequest,
): Promise<RunOutcome> {
  const { location, trigger, actor, signal, onStart, due } = request;
  const [source, publicSource] = [locationName(location), publicLocationName(location)];
  return performRun(
    connection,
    { kind: 'blueprints', source, publicSource, trigger, actor, signal, onStart, due },
    (session, complete) => perform(session, complete, request),
  );
}

async function perform(
  session: Database,
  complete: CompleteRun,
  request: BlueprintSyncRequest,
): Promise<SyncRun> {
  const { location, userAgent, force, signal } = request;
  const fingerprint = location.kind === 'url' ? locationFingerprint(location.url) : null;
  // The source's state at the last change of the blueprints.
  const last = fingerprint === null || force ? null : await lastValidators(session, fingerprint);
  const client = createHttpClient();
  try {
    const opened = await openSource(location, {
      client,
      userAgent,
      known: last?.validators ?? null,
      signal: AbortSignal.any([signal, AbortSignal.timeout(request.timeoutMs ?? timeoutMs)]),
    });
    if (opened.kind === 'content')
      return await take(session, complete, request, opened, fingerprint);
    if (!last) throw new Error('nothing was known that could be confirmed');
    return await session.transaction().execute((tx) => complete(tx, repeated(last)));
  } finally {
    await client.close();
  }
}

/** The source and the blueprints are unchanged. */
function repeated({ run, validators }: NonNullable<Last>): Completion {
  const total = run.counts?.['total'] ?? 0;
  const counts = { total, created: 0, updated: 0, retired: 0, unchanged: total, failed: 0 };
  return { counts, version: run.version, problems: [], validators };
}

async function take(
  session: Database,
  complete: CompleteRun,
  request: BlueprintSyncRequest,
  content: Content,
  fingerprint: string | null,
): Promise<SyncRun> {
  const { skipBad, signal, force, publicUrl, onProgress } = request;
  const source = await readRows(content, onProgress ?? (() => {}));
  const staged = await stageBlueprints(session, source, { skipBad, signal });
  const options = { unit: source.unit, skipBad, force, publicUrl, signal };
  const { run, counts } = await session.transaction().execute(async (tx) => {
    const merged = await mergeBlueprints(tx, staged, options);
    // If rows were skipped, the source has more than the blueprints show, so the next run reads it again.
    const validators =
      fingerprint === null || merged.counts.failed > 0
        ? null
        : await validatorsOf(tx, content.state, fingerprint);
    return { run: await complete(tx, { ...merged, validators }), counts: merged.counts };
  });
  const { created, updated, retired } = counts;
  const written = { created, updated: updated + retired, bad: 0, badLines: [] };
  await tidyAfterImport(session, 'blueprints', written);
  return run;
}

async function validatorsOf(
  tx: Transaction,
  state: SourceState,
  fingerprint: string,
): Promise<Validators | null> {
  if (state.etag === null && state.lastModified === null) return null;
  // Increases the revision now instead of at the commit, so that it can be stored with the run.
  await sql`set constraints all immediate`.execute(tx);
  const { rows } = await sql<{ revision: number }>`
    select revision from revisions where scope = 'blueprints'
  `.execute(tx);
  return { ...state, fingerprint, revision: rows[0]?.revision ?? 0 };
}

/**
 * Performs one run of the blueprint sync: source → rows → stage → merge and event. An incomplete or implausible source
 * changes nothing; the run is recorded as failed with the reason.
 */
import type { SyncRun } from '../contract/sync-run.ts';
import type { ConnectionSettings, Database, Transaction } from '../database/database.ts';
import { sql } from '../database/database.ts';
import { tidyAfterImport } from '../directory/import.ts';
import { recordEvent } from '../events/record-event.ts';
import { createHttpClient } from './http-client.ts';
import { mergeBlueprints, type BlueprintCounts, type Merged } from './merge-blueprints.ts';
import { openSource, type OpenedSource, type SourceState } from './open-source.ts';
import { performRun, type DueTime, type RunOutcome } from './perform-run.ts';
import { readRows } from './read-rows.ts';
import { completeRun, lastValidators, type Validators } from './runs.ts';
import {
  locationFingerprint,
  locationName,
  publicLocationName,
  type SourceLocation,
} from './source-location.ts';
import { stageBlueprints } from './stage-blueprints.ts';

export type BlueprintSyncRequest = {
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
  onProgress?: (readBytes: number, sizeBytes: number | null) => void;
  due?: DueTime;
};

const timeoutMs = 10 * 60_000;

export async function syncBlueprints(
  connection: ConnectionSettings,
  request: BlueprintSyncRequest,
): Promise<RunOutcome> {
  const { trigger, signal, onStart, due } = request;
  const source = locationName(request.location);
  return performRun(
    connection,
    { kind: 'blueprints', source, trigger, signal, onStart, due },
    (session, run, resolveDueTime) =>
      new BlueprintRun(session, run, resolveDueTime, request).perform(),
  );
}

type ResolveDueTime = (tx: Transaction, run: SyncRun) => Promise<void>;
type Content = Extract<OpenedSource, { kind: 'content' }>;
type Known = Awaited<ReturnType<typeof lastValidators>>;

class BlueprintRun {
  readonly #session: Database;
  readonly #run: SyncRun;
  readonly #resolveDueTime: ResolveDueTime;
  readonly #request: BlueprintSyncRequest;
  readonly #fingerprint: string | null;

  constructor(
    session: Database,
    run: SyncRun,
    resolveDueTime: ResolveDueTime,
    request: BlueprintSyncRequest,
  ) {
    this.#session = session;
    this.#run = run;
    this.#resolveDueTime = resolveDueTime;
    this.#request = request;
    const { location } = request;
    this.#fingerprint = location.kind === 'url' ? locationFingerprint(location.url) : null;
  }

  async perform(): Promise<SyncRun> {
    const client = createHttpClient();
    try {
      const known = await this.#known();
      const { location, userAgent, signal } = this.#request;
      const inTime = AbortSignal.any([
        signal,
        AbortSignal.timeout(this.#request.timeoutMs ?? timeoutMs),
      ]);
      const opened = await openSource(location, {
        client,
        userAgent,
        known: known?.validators ?? null,
        signal: inTime,
      });
      if (opened.kind === 'unchanged') return await this.#confirm(known);
      return await this.#take(opened);
    } finally {
      await client.close();
    }
  }

  /** The source's state at the last change of the blueprints. */
  async #known(): Promise<Known> {
    if (this.#fingerprint === null || this.#request.force) return null;
    return lastValidators(this.#session, this.#fingerprint);
  }

  /** The source and the blueprints are unchanged; the run is recorded with everything unchanged. */
  async #confirm(known: Known): Promise<SyncRun> {
    if (!known) throw new Error('nothing was known that could be confirmed');
    const { run, validators } = known;
    const total = run.counts?.['total'] ?? 0;
    const counts = { total, created: 0, updated: 0, retired: 0, unchanged: total, failed: 0 };
    return this.#session
      .transaction()
      .execute((tx) =>
        this.#complete(tx, { counts, version: run.version, problems: [] }, validators),
      );
  }

  async #take(content: Content): Promise<SyncRun> {
    const { skipBad, signal, force, publicUrl, onProgress } = this.#request;
    const source = await readRows(content, onProgress ?? (() => {}));
    const staged = await stageBlueprints(this.#session, source, { skipBad, signal });
    const options = { unit: source.unit, skipBad, force, publicUrl, signal };
    const { run, counts } = await this.#session.transaction().execute(async (tx) => {
      const merged = await mergeBlueprints(tx, staged, options);
      const validators = await this.#validators(tx, content.state, merged.counts);
      return { run: await this.#complete(tx, merged, validators), counts: merged.counts };
    });
    const { created, updated, retired } = counts;
    const written = { created, updated: updated + retired, bad: 0, badLines: [] };
    await tidyAfterImport(this.#session, 'blueprints', written);
    return run;
  }

  /** If rows were skipped, the source has more than the blueprints show, so the next run reads it again. */
  async #validators(
    tx: Transaction,
    state: SourceState,
    counts: BlueprintCounts,
  ): Promise<Validators | null> {
    const says = state.etag !== null || state.lastModified !== null;
    if (this.#fingerprint === null || !says || counts.failed > 0) return null;
    // Increases the revision now instead of at the commit, so that it can be stored with the run.
    await sql`set constraints all immediate`.execute(tx);
    const { rows } = await sql<{ revision: number }>`
      select revision from revisions where scope = 'blueprints'
    `.execute(tx);
    const revision = rows[0]?.revision ?? 0;
    return { ...state, fingerprint: this.#fingerprint, revision };
  }

  async #complete(
    tx: Transaction,
    { counts, version, problems }: Merged,
    validators: Validators | null,
  ): Promise<SyncRun> {
    const run = await completeRun(tx, this.#run, { counts, version, problems, validators });
    await this.#resolveDueTime(tx, run);
    await recordEvent(tx, {
      name: 'blueprint.sync.completed',
      data: {
        runId: run.id,
        source: publicLocationName(this.#request.location),
        startedAt: run.startedAt,
        finishedAt: run.finishedAt ?? run.startedAt,
        durationMs: run.durationMs ?? 0,
        counts,
        version,
      },
    });
    return run;
  }
}

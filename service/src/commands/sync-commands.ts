import { resolve } from 'node:path';
import { Option, type Command } from 'commander';
import { escapeControls, toJsonLine } from '@orgdir/client/command/escape-controls';
import { onFirstSignal } from '@orgdir/client/command/catch-signals';
import type { SyncKind, SyncRun } from '../contract/sync-run.ts';
import type { Config } from '../settings/config.ts';
import { invalid, ServiceError, StartError } from '../errors.ts';
import type { OpenedDatabase } from '../start/open-database.ts';
import { createChatProvider } from '../sync/chat-provider.ts';
import type { RunOutcome } from '../sync/perform-run.ts';
import { listRuns } from '../sync/runs.ts';
import { readLocation, type SourceLocation } from '../sync/open-source.ts';
import { syncBlueprints } from '../sync/sync-blueprints.ts';
import { syncChat } from '../sync/sync-chat.ts';
import { version } from '../runtime/version.ts';
import { createProgressLine, cliActor, table, withDatabase } from './with-database.ts';
import { addCommand, checkedBy, limitOption } from './parse-option.ts';

type SyncFlags = { json?: boolean };
type BlueprintFlags = SyncFlags & { force?: boolean; skipBad?: boolean };

const listedMax = 500;

export function addSyncCommands(program: Command): void {
  const sync = program
    .command('sync')
    .description('Sync the directory with its sources, and list the runs.');
  sync
    .command('blueprints')
    .description('Sync blueprints with a source, and retire those that it no longer has.')
    .argument(
      '[source]',
      'a file, or an http or https address (default: SYNC_BLUEPRINTS_URL). NDJSON or a JSON array, optionally gzipped',
      checkedBy(requireLocation),
    )
    .option('--force', 'sync even if it retires more than half of the active blueprints')
    .option('--skip-bad', 'skip bad rows; their blueprints do not change')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
All or nothing: a source that is cut off, malformed, empty or shrunk by more than half changes nothing. Unchanged
blueprints are not written. The run publishes blueprint.sync.completed; orgdir sync list shows it.

Examples:
  orgdir sync blueprints blueprints.ndjson
  orgdir sync blueprints https://example.org/blueprints.json.gz --skip-bad`,
    )
    .action(blueprints);
  sync
    .command('chat')
    .description("Update each organisation's member count from its chat server.")
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
CHAT_TOKEN is the token of a Discord bot. An organisation whose server cannot be read keeps its count and is listed
as failed. The run publishes chat.sync.completed, with totals only.

Example:
  CHAT_TOKEN=… orgdir sync chat`,
    )
    .action(chat);
  addCommand<{ kind?: SyncKind; limit: number }>(sync, {
    name: 'list',
    description: 'List runs of both syncs, newest first, with results or errors.',
    options: [
      new Option('--kind <kind>', 'only runs of this sync').choices(['blueprints', 'chat']),
      limitOption('runs', listedMax, 20),
    ],
    note: 'With --json, the rows or servers that failed, too.',
    example: ['', '--kind chat --limit 1 --json'],
    async act({ database, flags: { kind = null, limit } }) {
      const { runs } = await listRuns(database, { kind, page: 1, limit });
      const header = ['STARTED', 'SYNC', 'SOURCE', 'BY', 'STATUS', 'SECONDS', ''];
      return [runs, table(header, runs.map(toRow))];
    },
  });
}

type Perform = (
  opened: OpenedDatabase,
  config: Config,
  signal: AbortSignal,
  showProgress: (text: string) => void,
) => Promise<RunOutcome>;

async function blueprints(given: SourceLocation | undefined, flags: BlueprintFlags): Promise<void> {
  await perform('blueprints', flags, ({ connection }, config, signal, showProgress) =>
    syncBlueprints(connection, {
      location: given ?? configuredLocation(config),
      trigger: 'cli',
      actor: cliActor(),
      force: flags.force ?? false,
      skipBad: flags.skipBad ?? false,
      publicUrl: config.publicUrl,
      userAgent: `${config.serviceName}-Sync/${version}`,
      signal,
      onProgress: (readBytes) => showProgress(`Reading, ${Math.round(readBytes / 1024)} KiB`),
    }),
  );
}

function requireLocation(text: string): SourceLocation {
  const location = readLocation(text);
  if (!location)
    throw invalid({ path: 'source', message: 'must be a file, or an http or https address' });
  return location.kind === 'file' ? { ...location, path: resolve(location.path) } : location;
}

function configuredLocation({ syncs }: Config): SourceLocation {
  if (syncs.blueprints) return requireLocation(syncs.blueprints.source);
  throw invalid({ path: 'source', message: 'is required if SYNC_BLUEPRINTS_URL is not set' });
}

async function chat(flags: SyncFlags): Promise<void> {
  await perform(
    'chat',
    flags,
    async ({ connection }, { syncs, publicUrl }, signal, showProgress) => {
      if (!syncs.chat)
        throw new StartError('CHAT_TOKEN must be set to sync chat: the token of a Discord bot');
      const provider = createChatProvider(syncs.chat, { publicUrl, version });
      try {
        return await syncChat(connection, {
          provider,
          trigger: 'cli',
          actor: cliActor(),
          signal,
          onProgress: (asked, servers) => showProgress(`Asking, ${asked} of ${servers} servers`),
        });
      } finally {
        await provider.close();
      }
    },
  );
}

/** A signal first ends the run, so that it is recorded as stopped, and then the command. */
async function perform(kind: SyncKind, flags: SyncFlags, work: Perform): Promise<void> {
  const stop = new AbortController();
  let code: number | null = null;
  onFirstSignal((given) => {
    code = given;
    stop.abort();
  });
  const showProgress = createProgressLine();
  const outcome = await withDatabase(
    (opened, config) => work(opened, config, stop.signal, showProgress),
    { endsOnSignal: false },
  ).finally(() => showProgress(null));
  printOutcome(kind, outcome, flags);
  if (code !== null) process.exitCode = code;
}

function printOutcome(kind: SyncKind, outcome: RunOutcome, { json }: SyncFlags): void {
  if (outcome.kind === 'conflict' || outcome.kind === 'not_due')
    throw new ServiceError(
      'conflict',
      `Another sync of ${kind} is running. To see it: orgdir sync list`,
    );
  const { run } = outcome;
  if (run.status !== 'succeeded') process.exitCode = 1;
  if (json) return console.log(toJsonLine(run));
  for (const { subject, reason } of run.problems)
    console.error(escapeControls(`${subject}: ${reason}`));
  if (run.status === 'succeeded') console.log(`${formatCounts(run)}.`);
  else console.error(escapeControls(`Nothing was changed: ${run.message}.`));
}

function formatCounts({ counts }: SyncRun): string {
  return Object.entries(counts ?? {})
    .map(([name, count]) => `${count} ${name}`)
    .join(', ');
}

function toRow(run: SyncRun): string[] {
  return [
    run.startedAt,
    run.kind,
    run.source,
    run.trigger,
    run.status,
    run.durationMs === null ? '-' : (run.durationMs / 1000).toFixed(1),
    run.status === 'failed' ? `${run.reason}: ${run.message}` : formatCounts(run),
  ];
}

import { Group } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { runSync, syncRuns } from '../api/operations.ts';
import type { SyncRun } from '../api/types.ts';
import { useWrite } from '../api/use-write.ts';
import { BusyButton } from '../ui/busy-button.tsx';
import { formatDuration } from '../ui/format-duration.ts';
import { Problem } from '../ui/problem.tsx';
import { Time } from '../ui/time.tsx';
import { toastSuccess } from '../ui/toast.ts';
import { Named } from './choices.tsx';
import { useMayChange } from './suspend.tsx';
import { TablePage } from './table-page.tsx';

const limit = 25;
/** The polling interval while a run is shown that has not ended. */
const refreshMs = 2_000;

const labels: Record<SyncRun['kind'], string> = { blueprints: 'Blueprints', chat: 'Member counts' };

export function SyncsPage() {
  const mayChange = useMayChange();
  const client = useQueryClient();
  const isRunning = ({ status }: SyncRun) => status === 'running';
  return (
    <TablePage
      title="Syncs"
      lead="Runs that read blueprints from their source and member counts from the chat provider, newest first."
      filter={
        mayChange && (
          <Group>
            <RunNow kind="blueprints" />
            <RunNow kind="chat" />
          </Group>
        )
      }
      read={(page) => ({
        ...syncRuns({ page, limit }),
        refetchInterval: () =>
          client.getQueryData(syncRuns({ page, limit }).queryKey)?.entries.some(isRunning)
            ? refreshMs
            : false,
      })}
      columns={['Sync', 'Started', 'By', 'Status', 'Took', 'Result']}
      none="No sync has run yet."
      row={(run) => ({
        key: run.id,
        cells: [
          <Named key="sync" name={labels[run.kind]} id={run.id} thing="run" />,
          <Time key="started" at={run.startedAt} />,
          triggers[run.trigger],
          statuses[run.status] ?? run.status,
          run.durationMs === null ? '' : formatDuration(run.durationMs),
          resultOf(run),
        ],
      })}
    />
  );
}

const triggers: Record<SyncRun['trigger'], string> = {
  schedule: 'Schedule',
  cli: 'Command line',
  api: 'API or console',
};
const statuses: Record<string, string> = {
  running: 'Running',
  succeeded: 'Succeeded',
  failed: 'Failed',
};

/** The counts that are not zero, or why it failed. */
function resultOf({ counts, message }: SyncRun): string {
  if (message !== null) return message;
  return Object.entries(counts ?? {})
    .filter(([, count]) => count !== 0)
    .map(([name, count]) => `${name} ${count.toLocaleString()}`)
    .join(', ');
}

function RunNow({ kind }: { kind: SyncRun['kind'] }) {
  const write = useWrite(() => runSync(kind), ['/operator/syncs'], {
    done: () => toastSuccess('The sync has started.'),
  });
  return (
    <div>
      <BusyButton
        variant="default"
        busy={write.isPending}
        onClick={() => write.mutate(undefined)}
        aria-label={`Run now: ${labels[kind]}`}
      >
        Run now: {labels[kind].toLowerCase()}
      </BusyButton>
      {write.error && <Problem error={write.error} />}
    </div>
  );
}

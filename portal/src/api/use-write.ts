import {
  useMutation,
  useQueryClient,
  type Query,
  type UseMutationResult,
} from '@tanstack/react-query';
import { awaitFocus } from '../ui/move-focus.ts';
import { isAnswerLost } from './call.ts';

/** The reads that change with an app and everything below it. The apps count their keys and webhooks. */
export const appChanges = ['/apps', '/overview', '/audit'];

/**
 * Runs a write and invalidates the reads that it changes, given by path, including all paths below. Reads on the screen are
 * refetched before the write counts as done; other cached reads are removed, so that no screen shows old data. So they are if
 * the answer is lost, because the write may have been done.
 * `gone`: the path of a deleted resource, which is not refetched. `done`: runs afterwards, even if the component has
 * unmounted; callbacks given to `mutate` do not. `waits`: false if the output must be shown before the reads are done.
 */
export function useWrite<Input, Output>(
  write: (input: Input) => Promise<Output>,
  changes: string[],
  {
    gone,
    done,
    waits = true,
  }: { gone?: string; done?: (output: Output) => void; waits?: boolean } = {},
): UseMutationResult<Output, Error, Input> {
  const client = useQueryClient();
  const isChanged = ({ queryKey }: Query) => {
    const path = String(queryKey[0]);
    const isGone = gone !== undefined && isBelow(path, gone);
    return !isGone && changes.some((changed) => isBelow(path, changed));
  };
  return useMutation({
    mutationFn: (input: Input) => {
      awaitFocus();
      return write(input);
    },
    onSettled: async (output, error) => {
      if (error && !isAnswerLost(error)) return;
      client.removeQueries({ type: 'inactive', predicate: isChanged });
      const reads = client.invalidateQueries({ predicate: isChanged });
      if (error) return;
      if (waits) await reads;
      done?.(output as Output);
    },
  });
}

function isBelow(path: string, parent: string): boolean {
  return path === parent || path.startsWith(`${parent}/`);
}

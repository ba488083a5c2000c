import {
  useMutation,
  useQueryClient,
  type Query,
  type UseMutationResult,
} from '@tanstack/react-query';

/**
 * A write, and the paths of the reads that it changes, with all below them: what of them is on the screen is read again
 * before the write counts as done, and what is not is forgotten, so that no screen ever shows what was before. `gone`: the
 * path of what the write deletes, which is not to be read again. `done`: what follows, also where the component is no longer
 * on the screen by then; what is given to `mutate` is forgotten with it.
 */
export function useWrite<Input, Output>(
  write: (input: Input) => Promise<Output>,
  changes: string[],
  { gone, done }: { gone?: string; done?: (output: Output) => void } = {},
): UseMutationResult<Output, Error, Input> {
  const client = useQueryClient();
  const isChanged = ({ queryKey }: Query) => {
    const path = String(queryKey[0]);
    const isGone = gone !== undefined && isBelow(path, gone);
    return !isGone && changes.some((changed) => isBelow(path, changed));
  };
  return useMutation({
    mutationFn: write,
    onSuccess: async (output) => {
      client.removeQueries({ type: 'inactive', predicate: isChanged });
      await client.invalidateQueries({ predicate: isChanged });
      done?.(output);
    },
  });
}

function isBelow(path: string, parent: string): boolean {
  return path === parent || path.startsWith(`${parent}/`);
}

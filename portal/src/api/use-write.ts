import { useMutation, useQueryClient, type UseMutationResult } from '@tanstack/react-query';

/**
 * A write, and the paths of the reads that it changes, with all below them: they are read again before it counts as
 * done, so that the screen never shows what was before.
 */
export function useWrite<Input, Output>(
  write: (input: Input) => Promise<Output>,
  changes: string[],
): UseMutationResult<Output, Error, Input> {
  const client = useQueryClient();
  return useMutation({
    mutationFn: write,
    onSuccess: async () => {
      await client.invalidateQueries({
        predicate: ({ queryKey }) => changes.some((path) => isBelow(String(queryKey[0]), path)),
      });
    },
  });
}

function isBelow(path: string, parent: string): boolean {
  return path === parent || path.startsWith(`${parent}/`);
}

import { useQueryClient } from '@tanstack/react-query';

/** For dialogs that send something. A running request cannot be cancelled, so they stay open until its result is known. */
export function useClosing(close: () => void): () => void {
  const client = useQueryClient();
  return () => {
    if (client.isMutating() === 0) close();
  };
}

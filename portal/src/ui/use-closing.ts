import { useQueryClient } from '@tanstack/react-query';

/**
 * For dialogs that send something. A running request cannot be cancelled, so they stay open until its result is known. They also
 * hear Escape while the page is hidden.
 */
export function useClosing(close: () => void): () => void {
  const client = useQueryClient();
  return () => {
    const isHidden = document.querySelector('[data-session-ended]') !== null;
    if (client.isMutating() === 0 && !isHidden) close();
  };
}

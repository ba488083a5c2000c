import { DeferredFold } from '../ui/deferred-fold.tsx';

/** Sample receivers that check signatures. They are long and rarely needed, so they load on demand. */
export function Receivers() {
  return (
    <DeferredFold
      title="Receivers that check signatures"
      summary="In TypeScript, Python, Go, PHP and shell, ready to copy."
      script={{ name: 'signature snippets', load: () => import('./signature-snippets.tsx') }}
    />
  );
}

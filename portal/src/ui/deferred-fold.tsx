import { useState, type ReactNode } from 'react';
import { Deferred, type Script } from './deferred.tsx';
import { Fold } from './fold.tsx';

type Props = { script: Script<'default'>; title: ReactNode; summary: ReactNode };

/** A fold whose script loads when it is opened. */
export function DeferredFold({ script, ...fold }: Props) {
  const [wasOpened, setWasOpened] = useState(false);
  return (
    <Fold {...fold} onOpen={() => setWasOpened(true)}>
      {wasOpened && <Deferred script={script} part="default" />}
    </Fold>
  );
}

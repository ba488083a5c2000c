import { Alert, Group, Stack, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { useSearchParams } from 'react-router';
import { Loaded } from '../shown/loaded.tsx';
import { Problem } from '../shown/problem.tsx';
import { Section } from '../shown/section.tsx';
import { link } from '../sign-in/authenticate.ts';
import { ProviderButton } from '../sign-in/provider-button.tsx';
import { providers } from '../sign-in/providers.tsx';
import { wordsOfAddress } from '../sign-in/words.ts';
import { methods, type Method } from './account.ts';
import { LinkedMethod } from './linked-method.tsx';
import { nameOf } from './name-of-method.ts';
import { Unlink } from './unlink.tsx';

/** The password, and the providers by which somebody may come. */
export function Methods() {
  const query = useQuery(methods());
  const [asked, setAsked] = useState<Method | null>(null);
  const [isNews, setIsNews] = useState(true);
  const heading = useRef<HTMLHeadingElement>(null);
  return (
    <Section
      title="Ways to sign in"
      lead="Each of them opens this account. Link only what is yours alone."
      headingRef={heading}
    >
      {isNews && <Arrival />}
      <Loaded query={query}>{(found) => <List found={found} unlink={setAsked} />}</Loaded>
      <Unlink
        method={asked}
        close={() => setAsked(null)}
        unlinked={() => {
          setIsNews(false);
          // The button that was pressed is gone.
          heading.current?.focus();
        }}
      />
    </Section>
  );
}

function List({ found, unlink }: { found: Method[]; unlink: (method: Method) => void }) {
  const missing = providers.filter(({ id }) => !found.some(({ providerId }) => providerId === id));
  return (
    <Stack>
      <Stack component="ul" gap="sm" m={0} p={0} style={{ listStyle: 'none' }}>
        {found.map((method) => (
          <LinkedMethod
            key={method.id}
            method={method}
            isLast={!hasOther(found, method)}
            unlink={() => unlink(method)}
          />
        ))}
      </Stack>
      {missing.length > 0 && <Links missing={missing} />}
    </Stack>
  );
}

/** Whether one can still sign in without it: what this service does not work with any more does not count. */
function hasOther(found: Method[], method: Method): boolean {
  return found.some(
    ({ id, providerId }) =>
      id !== method.id &&
      (providerId === 'credential' || providers.some((provider) => provider.id === providerId)),
  );
}

function Links({ missing }: { missing: typeof providers }) {
  const leaving = useMutation({ mutationFn: link });
  const isLeaving = leaving.isPending || leaving.isSuccess;
  return (
    <Stack gap="xs">
      <Group gap="xs">
        {missing.map(({ id, name }) => (
          <ProviderButton
            key={id}
            loading={isLeaving && leaving.variables === id}
            onClick={() => leaving.mutate(id)}
          >
            Link {name}
          </ProviderButton>
        ))}
      </Group>
      {leaving.isError && <Problem error={leaving.error} />}
    </Stack>
  );
}

/** What became of the way to a provider, told once. */
function Arrival() {
  const [query, setQuery] = useSearchParams();
  const [{ error, linked }] = useState({ error: query.get('error'), linked: query.get('linked') });
  useEffect(() => setQuery({}, { replace: true }), [setQuery]);
  if (error !== null)
    return (
      <Alert color="red" variant="outline" title="Nothing was linked" role="alert">
        <Text size="sm">{wordsOfAddress(error)}</Text>
      </Alert>
    );
  if (linked === null) return null;
  return (
    <Alert color="green" variant="outline" title={`${nameOf(linked)} is linked`} role="status">
      <Text size="sm">You can sign in with it from now on.</Text>
    </Alert>
  );
}

import { Alert, Group, Stack, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { useSearchParams } from 'react-router';
import { accountMethods } from '../api/operations.ts';
import type { AccountMethod } from '../api/types.ts';
import { describeProviderError } from '../sign-in/describe-provider-error.ts';
import { addProvider } from '../sign-in/go-to-provider.ts';
import { ProviderButtons, providers } from '../sign-in/provider-buttons.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { moveFocusAfterWait } from '../ui/move-focus.ts';
import { Problem } from '../ui/problem.tsx';
import { Section } from '../ui/section.tsx';
import { MethodList } from './method-list.tsx';
import { methodName } from './method-name.ts';

/** The password and the providers that open the account. */
export function Methods() {
  const query = useQuery(accountMethods());
  const [showsResult, setShowsResult] = useState(true);
  const heading = useRef<HTMLHeadingElement>(null);
  return (
    <Section
      title="Ways to sign in"
      lead="Each one opens this account. Add only methods that nobody else can use."
      headingRef={heading}
    >
      {showsResult && <ProviderResult />}
      <Loaded query={query}>
        {({ entries }) => (
          <Stack>
            <MethodList
              methods={entries}
              isLast={(method) => !hasOther(entries, method)}
              removed={() => {
                setShowsResult(false);
                moveFocusAfterWait(heading.current);
              }}
            />
            <AddProviders methods={entries} />
          </Stack>
        )}
      </Loaded>
    </Section>
  );
}

/** True if another method still works. A provider that is no longer configured does not. */
function hasOther(methods: AccountMethod[], method: AccountMethod): boolean {
  return methods.some(
    ({ id, provider }) =>
      id !== method.id &&
      (provider === 'credential' || providers.some((configured) => configured.id === provider)),
  );
}

function AddProviders({ methods }: { methods: AccountMethod[] }) {
  const leaving = useMutation({ mutationFn: addProvider });
  const missing = providers.filter(({ id }) => !methods.some(({ provider }) => provider === id));
  if (missing.length === 0) return null;
  return (
    <Stack gap="xs">
      <Group gap="xs">
        <ProviderButtons offered={missing} verb="Add" leaving={leaving} />
      </Group>
      {leaving.isError && <Problem error={leaving.error} />}
    </Stack>
  );
}

/** Shows once if a provider was added or why not. */
function ProviderResult() {
  const [query, setQuery] = useSearchParams();
  const [{ error, added }] = useState({ error: query.get('error'), added: query.get('added') });
  useEffect(() => {
    if (error !== null || added !== null) setQuery({}, { replace: true });
  }, [error, added, setQuery]);
  if (error !== null)
    return (
      <Alert color="red" title="Nothing was added" role="alert">
        <Text size="sm">{describeProviderError(error)}</Text>
      </Alert>
    );
  if (added === null) return null;
  return (
    <Alert color="green" title={`${methodName(added)} added`} role="status">
      <Text size="sm">You can now sign in with it.</Text>
    </Alert>
  );
}

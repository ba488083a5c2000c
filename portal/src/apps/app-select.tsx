import { NativeSelect } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { apps } from '../api/operations.ts';
import { Problem } from '../ui/problem.tsx';

type Props = {
  label: string;
  description?: string;
  /** The option for no app. */
  none: string;
  value: string;
  /** The name of an app that is not in the list; undefined while it is unknown. */
  missing: string | undefined;
  noApps?: ReactNode;
  choose: (id: string) => void;
};

/** Chooses one of the user's apps. Empty text: none. */
export function AppSelect({ none, missing, noApps, choose, ...props }: Props) {
  const { data, error, refetch } = useQuery(apps());
  if (!data && error) return <Problem error={error} retry={() => void refetch()} />;
  if (data?.entries.length === 0 && noApps) return noApps;
  const options = (data?.entries ?? []).map(({ id, name }) => ({ value: id, label: name }));
  if (props.value !== '' && !options.some(({ value }) => value === props.value))
    options.push({ value: props.value, label: (data && missing) ?? 'Loading' });
  return (
    <NativeSelect
      {...props}
      maw="24rem"
      onChange={({ currentTarget }) => choose(currentTarget.value)}
      data={[{ value: '', label: none }, ...options]}
    />
  );
}

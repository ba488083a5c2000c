import { Paper, Stack } from '@mantine/core';
import { useId, type ReactNode, type Ref } from 'react';
import { TitleRow, type TitleRowProps } from './title-row.tsx';

type Props = TitleRowProps & {
  headingRef?: Ref<HTMLHeadingElement> | undefined;
  children: ReactNode;
};

export function Section({ headingRef, children, ...title }: Props) {
  const id = useId();
  return (
    <Paper component="section" withBorder p={{ base: 'sm', sm: 'lg' }} aria-labelledby={id}>
      <Stack>
        <TitleRow {...title} order={2} size="h4" id={id} ref={headingRef} />
        {children}
      </Stack>
    </Paper>
  );
}

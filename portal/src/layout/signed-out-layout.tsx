import { Box, Container, Group, Paper, Stack, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { Announcements } from './announcements.tsx';
import { Brand } from './brand.tsx';
import { MaintenanceBanner } from './maintenance-banner.tsx';
import { useHeading } from './page.tsx';
import { SchemeButton } from './scheme-button.tsx';

type Props = { title: string; children: ReactNode; below?: ReactNode };

export function SignedOutLayout({ title, children, below }: Props) {
  const heading = useHeading(title);
  return (
    <Box>
      <Group component="header" justify="space-between" p="md">
        <Brand />
        <SchemeButton />
      </Group>
      <Container component="main" size={440} py="xl">
        <MaintenanceBanner />
        <Announcements />
        <Paper withBorder p="lg">
          <Stack>
            <Title order={1} size="h3" ref={heading} tabIndex={-1}>
              {title}
            </Title>
            {children}
          </Stack>
        </Paper>
        {below && (
          <Text component="div" size="sm" ta="center" mt="md">
            {below}
          </Text>
        )}
      </Container>
    </Box>
  );
}

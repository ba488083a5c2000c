import { Table, Text } from '@mantine/core';

/** Headers of a request or an answer, as text. */
export function HeaderList({ label, headers }: { label: string; headers: Record<string, string> }) {
  const entries = Object.entries(headers);
  if (entries.length === 0)
    return (
      <Text size="sm" c="dimmed">
        {label}: none.
      </Text>
    );
  return (
    <Table captionSide="top" verticalSpacing={4} layout="fixed" fz="xs">
      <Table.Caption ta="start" mt={0} mb={4} fz="sm" fw={600} c="var(--mantine-color-text)">
        {label}
      </Table.Caption>
      <Table.Tbody>
        {entries.map(([name, value]) => (
          <Table.Tr key={name}>
            <Table.Th scope="row" w="35%" ff="monospace" fw={500} style={{ verticalAlign: 'top' }}>
              {name}
            </Table.Th>
            <Table.Td ff="monospace">{value}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

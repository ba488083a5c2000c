import { Code, Table, Text } from '@mantine/core';
import { schemaFields, type Schema } from './schema-fields.ts';

/** The fields of an event's `data`. */
export function FieldTable({ event, schema }: { event: string; schema: Schema }) {
  return (
    <Table captionSide="top" verticalSpacing={6} layout="fixed">
      <Table.Caption ta="start" mt={0} mb={4} fz="sm" fw={600} c="var(--mantine-color-text)">
        Fields of <Code fz="inherit">data</Code> in {event}
      </Table.Caption>
      <Table.Thead>
        <Table.Tr>
          <Table.Th scope="col" w="45%">
            Field
          </Table.Th>
          <Table.Th scope="col">Meaning</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {schemaFields(schema).map(({ path, type, isNullable, description }) => (
          <Table.Tr key={path}>
            <Table.Th scope="row" fw={400} style={{ verticalAlign: 'top' }}>
              <Text span ff="monospace" size="sm" fw={600}>
                {path}
              </Text>
              <Text size="xs" c="dimmed">
                {type}
                {isNullable && ', or null'}
              </Text>
            </Table.Th>
            <Table.Td fz="sm" style={{ verticalAlign: 'top' }}>
              {description}
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

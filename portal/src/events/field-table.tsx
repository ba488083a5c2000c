import { Code, Table, Text } from '@mantine/core';
import { schemaFields, type Field, type Schema } from './schema-fields.ts';
import { TableHead } from '../ui/table-head.tsx';
import { Note } from '../ui/note.tsx';

export function FieldTable({ event, schema }: { event: string; schema: Schema }) {
  return (
    <Table captionSide="top" verticalSpacing={6} layout="fixed">
      <Table.Caption ta="start" mt={0} mb={4} fz="sm" fw={600} c="var(--mantine-color-text)">
        Fields of <Code fz="inherit">data</Code> in {event}
      </Table.Caption>
      <TableHead columns={[{ title: 'Field', w: '45%' }, { title: 'Meaning' }]} />
      <Table.Tbody>
        {schemaFields(schema).map((field) => (
          <Row key={field.path} field={field} />
        ))}
      </Table.Tbody>
    </Table>
  );
}

function Row({ field: { path, type, isNullable, description } }: { field: Field }) {
  return (
    <Table.Tr>
      <Table.Th scope="row" fw={400} style={{ verticalAlign: 'top' }}>
        <Text span ff="monospace" size="sm" fw={600}>
          {path}
        </Text>
        <Note size="xs">
          {type}
          {isNullable && ', or null'}
        </Note>
      </Table.Th>
      <Table.Td fz="sm" style={{ verticalAlign: 'top' }}>
        {description}
      </Table.Td>
    </Table.Tr>
  );
}

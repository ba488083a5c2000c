import { Table, type TableThProps } from '@mantine/core';

export function TableHead({ columns }: { columns: (TableThProps & { title: string })[] }) {
  return (
    <Table.Thead>
      <Table.Tr>
        {columns.map(({ title, ...props }) => (
          <Table.Th key={title} scope="col" {...props}>
            {title}
          </Table.Th>
        ))}
      </Table.Tr>
    </Table.Thead>
  );
}

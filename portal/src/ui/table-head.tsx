import { Table, type TableThProps } from '@mantine/core';
import type { ReactNode } from 'react';

type Props = {
  columns: (TableThProps & { title: string })[];
  /** A control above the first column. */
  before?: ReactNode;
};

export function TableHead({ columns, before }: Props) {
  return (
    <Table.Thead>
      <Table.Tr>
        {before && <Table.Td>{before}</Table.Td>}
        {columns.map(({ title, ...props }) => (
          <Table.Th key={title} scope="col" {...props}>
            {title}
          </Table.Th>
        ))}
      </Table.Tr>
    </Table.Thead>
  );
}

import { Group, Text } from '@mantine/core';
import { isConsole, pageData } from '../page-data.ts';

export function Brand() {
  return (
    <Group component="span" gap="xs" wrap="nowrap" miw={0}>
      <img src={pageData.logo} alt="" width={26} height={26} />
      <Text component="span" fw={650} truncate>
        {pageData.serviceName} {isConsole ? 'console' : 'developers'}
      </Text>
    </Group>
  );
}

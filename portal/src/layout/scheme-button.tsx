import { ActionIcon, useMantineColorScheme } from '@mantine/core';
import { Monitor, Moon, Sun } from '../ui/icons.tsx';

const choices = {
  auto: { label: 'as the system', Icon: Monitor, next: 'light' },
  light: { label: 'light', Icon: Sun, next: 'dark' },
  dark: { label: 'dark', Icon: Moon, next: 'auto' },
} as const;

/** The same choice as on the other pages of the service, whose script is service/src/http/site/scheme.js. */
export function SchemeButton() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const { label, Icon, next } = choices[colorScheme];
  return (
    <ActionIcon
      variant="subtle"
      color="gray"
      size="lg"
      aria-label={`Colours: ${label}`}
      title={`Colours: ${label}`}
      onClick={() => setColorScheme(next)}
    >
      <Icon size={18} aria-hidden />
    </ActionIcon>
  );
}

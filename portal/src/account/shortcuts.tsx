import { Switch } from '@mantine/core';
import { Section } from '../ui/section.tsx';
import { useShortcutKeys } from '../ui/shortcut-keys.ts';

export function Shortcuts() {
  const [areOn, setOn] = useShortcutKeys();
  return (
    <Section
      title="Keyboard shortcuts"
      lead="Keys of one character move in the list of deliveries: press ? there to see them. This browser keeps the choice."
    >
      <Switch
        label="Use keys of one character"
        checked={areOn}
        onChange={({ currentTarget }) => setOn(currentTarget.checked)}
      />
    </Section>
  );
}

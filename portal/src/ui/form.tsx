import { Box, Button, Group, Stack } from '@mantine/core';
import type { ReactNode, SubmitEvent } from 'react';
import { BusyButton } from './busy-button.tsx';
import { Problem } from './problem.tsx';

/** The state of the request that a form or a dialog sends. */
export type Write = { isPending: boolean; error: unknown };

type ButtonProps = {
  write: Write;
  action: string;
  disabled?: boolean;
  color?: string;
  cancel?: () => void;
  /** `dialog`: buttons on the right. `narrow`: buttons as wide as the fields. */
  layout?: 'page' | 'dialog' | 'narrow';
};

type Props = ButtonProps & {
  submit: (event: SubmitEvent<HTMLFormElement>) => void;
  maw?: number | string;
  noValidate?: boolean;
  children: ReactNode;
};

/** Fields with their buttons. The error of the request appears above the buttons. */
export function Form({ submit, maw, noValidate = false, children, ...buttons }: Props) {
  const { error } = buttons.write;
  return (
    <Box
      component="form"
      maw={maw}
      noValidate={noValidate}
      onSubmit={(event) => {
        event.preventDefault();
        submit(event);
      }}
    >
      <Stack>
        {children}
        {Boolean(error) && <Problem error={error} />}
        <Buttons {...buttons} />
      </Stack>
    </Box>
  );
}

function Buttons({ write, action, disabled = false, color, cancel, layout = 'page' }: ButtonProps) {
  const isDialog = layout === 'dialog';
  const submit = (
    <BusyButton type="submit" busy={write.isPending} disabled={disabled} {...(color && { color })}>
      {action}
    </BusyButton>
  );
  return (
    <Group justify={isDialog ? 'flex-end' : 'flex-start'} grow={layout === 'narrow'}>
      {!isDialog && submit}
      {cancel && (
        // Takes the focus in a dialog, unless a field before it does.
        <Button variant="default" onClick={cancel} data-autofocus={isDialog || undefined}>
          Cancel
        </Button>
      )}
      {isDialog && submit}
    </Group>
  );
}

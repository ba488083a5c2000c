import { Button, type ButtonProps } from '@mantine/core';
import type { ComponentProps } from 'react';

type Props = ButtonProps &
  Omit<ComponentProps<'button'>, keyof ButtonProps> & {
    /** True while the request of this button runs. A click then does nothing. */
    busy: boolean;
  };

/** A button that keeps the focus while it is busy or disabled. Browsers blur elements with the attribute `disabled`. */
export function BusyButton({ busy, disabled = false, onClick, ...props }: Props) {
  const isOff = busy || disabled;
  return (
    <Button
      {...props}
      loading={busy}
      disabled={disabled}
      aria-disabled={isOff}
      // Without the default action, the button does not submit its form either. The second click of a double click may come
      // before the button is busy.
      onClick={(event) => (isOff || event.detail > 1 ? event.preventDefault() : onClick?.(event))}
      renderRoot={(root) => <button {...root} disabled={false} />}
    />
  );
}

import { notifications } from '@mantine/notifications';
import { describeError } from './describe-error.ts';

/** Says, in a corner and to screen readers, that something was done. */
export function sayDone(message: string): void {
  notifications.show({ message, color: 'green.9', closeButtonProps: { 'aria-label': 'Close' } });
}

/** For what has no place of its own on the screen. */
export function sayFailed(error: unknown): void {
  const { title, message, requestId } = describeError(error);
  notifications.show({
    title,
    message: requestId ? `${message} (request ${requestId})` : message,
    color: 'red.9',
    autoClose: false,
    closeButtonProps: { 'aria-label': 'Close' },
  });
}

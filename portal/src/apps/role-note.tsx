import { Note } from '../ui/note.tsx';
import { can, whoCan, type Action } from './can.ts';
import { useApp } from './use-app.ts';
import { Lock } from '../ui/icons.tsx';

/** Says once per page why controls are missing. `to`: completes “Only owners can …”. */
export function RoleNote({ action, to }: { action: Action; to: string }) {
  const app = useApp();
  // The page says why nothing can be changed.
  if (!app || app.suspendedAt !== null || can(app, action)) return null;
  return (
    <Note>
      <Lock size={14} aria-hidden /> You are a {app.role} of this app. Only {whoCan(action)} can{' '}
      {to}.
    </Note>
  );
}

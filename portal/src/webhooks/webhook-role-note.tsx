import { RoleNote } from '../apps/role-note.tsx';

export function WebhookRoleNote() {
  return (
    <RoleNote action="changeWebhooks" to="change webhooks, send to them, and see their full URLs" />
  );
}

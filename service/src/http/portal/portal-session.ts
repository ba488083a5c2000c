import type { SignedIn } from '../../sign-in/sign-in.ts';

/** The session as the pages get it. Nobody learns a name by a password alone. */
export function toPortalSession({
  sessionId: id,
  userId,
  expiresAt,
  missingFactor,
  name,
  image,
  email,
}: SignedIn) {
  const shown = missingFactor === 'confirm' ? { name: email, image: null } : { name, image };
  return { id, user: { id: userId, email, ...shown }, missingFactor, expiresAt };
}

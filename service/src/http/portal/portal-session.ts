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
  suspension,
}: SignedIn) {
  const isShown = missingFactor !== 'confirm';
  const shown = isShown ? { name, image } : { name: email, image: null };
  return {
    id,
    user: { id: userId, email, ...shown },
    missingFactor,
    suspendedAt: (isShown && suspension?.suspendedAt) || null,
    suspendedReason: (isShown && suspension?.suspendedReason) || null,
    expiresAt,
  };
}

import { pageData } from '../page-data.ts';

/** Describes how the invited person gets to the invitation. */
export function describeSentInvitation(email: string): string {
  const { links } = pageData.signInOptions.password;
  if (links === 'mail') return `We mailed an invitation to ${email}.`;
  if (links === 'terminal')
    return `This service sends no mail. The link for ${email} is printed on the terminal where it runs.`;
  return `This service sends no mail. Ask ${email} to sign in with this address: the invitation is shown under Apps.`;
}

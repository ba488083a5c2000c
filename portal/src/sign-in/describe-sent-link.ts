import { pageData } from '../page-data.ts';

/** Describes where to find a requested link, and how long it works. */
export function describeSentLink(email: string): { title: string; message: string } {
  const works = 'It works once, within an hour.';
  return pageData.signInOptions.password.links === 'terminal'
    ? {
        title: 'Check the terminal',
        message: `This service sends no mail, so the link for ${email} is printed on the terminal where it runs. ${works}`,
      }
    : { title: 'Check your email', message: `We sent a link to ${email}. ${works}` };
}

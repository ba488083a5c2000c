/**
 * How long what people hold stays valid. Mails, API descriptions and the portal take these numbers from here, and a
 * test compares the documents with them.
 */
import { inWords } from './in-words.ts';

/** How long an invitation can be accepted. */
export const invitationDays = 7;
export const invitationDaysInWords = inWords(invitationDays);

/** How long a session lasts after its last use. */
export const sessionDays = 7;
export const sessionDaysInWords = inWords(sessionDays);

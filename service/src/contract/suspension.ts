/** The longest reason of a suspension, in characters: fits into a mail, and into a line of the portal. */
export const reasonCharsMax = 500;

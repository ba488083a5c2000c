/** Long enough that no list of known passwords is worth trying ten times a minute; NIST SP 800-63B asks for eight. */
export const passwordLengthMin = 10;
/** Longer ones are hashed to the same 64 bytes. */
export const passwordLengthMax = 128;

/** `read-only` sees everything that `operator` sees, and changes nothing. */
export const operatorRoles = ['operator', 'read-only'] as const;
export type OperatorRole = (typeof operatorRoles)[number];

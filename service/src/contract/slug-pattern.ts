/** Lower-case ASCII words joined by single hyphens. */
export const slugPattern = '^[a-z0-9]+(-[a-z0-9]+)*$';

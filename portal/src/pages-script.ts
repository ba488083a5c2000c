/** The script of `pages.ts`, which loads when its first page or dialog is opened. */
export const pages = { name: 'pages', load: () => import('./pages.ts') };

/** The script of `pages.ts`, which loads when its first page or dialog is opened. */
export const pages = { name: 'pages', load: () => import('./pages.ts') };
/** The script of the console, which only operators load. */
export const operatorPages = { name: 'operator', load: () => import('./operator/console.ts') };

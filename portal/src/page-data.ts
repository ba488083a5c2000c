/** Reads the data that the service writes into the page, which saves the first screen a request. */
import type { PortalSession, SignInOptions } from './api/types.ts';

export type PageData = {
  serviceName: string;
  /** The address of the image. */
  logo: string;
  version: string;
  /** The prefix of `/profile/developer`, `/portal/api` and `/docs`; usually empty. */
  basePath: string;
  /** Null: nobody is signed in. Absent: the service could not tell. */
  session?: PortalSession | null;
  signInOptions: SignInOptions;
  /** The addresses besides public https ones that webhooks may have. */
  webhookUrls: { allowsHttp: boolean; allowsNetworks: boolean };
};

const element = document.querySelector<HTMLScriptElement>('#page-data');
export const pageData = read();

/** The operators' console: other pages below another address. */
export const isConsole = window.location.pathname.startsWith(
  `${pageData.basePath}/profile/operator`,
);
/** The address below which the pages are. */
export const pagesPath = `${pageData.basePath}/profile/${isConsole ? 'operator' : 'developer'}`;

/** Allows the styles that scripts add. It changes with every load. */
export const styleNonce = element?.nonce ?? '';

function read(): PageData {
  if (!element?.textContent)
    throw new Error('the page holds no data: the service did not write it');
  return JSON.parse(element.textContent) as PageData;
}

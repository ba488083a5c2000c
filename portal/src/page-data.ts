/** What the service writes into the page, so that the first screen waits for one request less. */
import type { PortalSession, SignInOptions } from './api/types.ts';

export type PageData = {
  serviceName: string;
  /** Of the service. */
  version: string;
  /** What stands before `/profile/developer`, `/portal/api` and `/docs`; mostly nothing. */
  basePath: string;
  /** Null: nobody is signed in. Absent: the service could not tell. */
  session?: PortalSession | null;
  signInOptions: SignInOptions;
};

const element = document.querySelector<HTMLScriptElement>('#page-data');
export const pageData = read();

/** Lets in the styles that scripts add: it differs at every load. */
export const styleNonce = element?.nonce ?? '';

function read(): PageData {
  if (!element?.textContent)
    throw new Error('the page holds no data: the service did not write it');
  return JSON.parse(element.textContent) as PageData;
}

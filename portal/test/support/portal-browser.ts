/**
 * The portal as people see it: the real service with its worker, and a real Chromium that knows it by its public address.
 * Whatever a page says on its console, breaks of its own policy and calls to other hosts included, fails the test file.
 */
import assert from 'node:assert/strict';
import { after, afterEach } from 'node:test';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import {
  startOidcProvider,
  type OidcProvider,
} from '../../../service/test/support/oidc-provider.ts';
import {
  addressTokenOf,
  password,
  postPortal,
  printedToken,
  signInAs,
  signUp,
  type Person,
} from '../../../service/test/support/portal.ts';
import { loopbackAllowed } from '../../../service/test/support/receiver.ts';
import {
  startTestService,
  testPublicUrl,
  type TestService,
  type TestServiceOptions,
} from '../../../service/test/support/service.ts';
import { launchBrowser } from '../../../test/support/browser.ts';

export type PortalBrowser = {
  service: TestService;
  /**
   * Opens a window, signed in as a person or signed out, on a page of the portal or at `url`. Until the test ends no other
   * test has it, and then it is cleared and used again: a new one takes half as much time again. `isNew`: for what cannot
   * be cleared, such as a clock.
   */
  open: (
    options?: { as?: Person; path?: string; url?: string; isNew?: boolean } & BrowserContextOptions,
  ) => Promise<Page>;
  /** Opens an empty window, which closes when the test file ends: loading page after page in one takes half the time. */
  openForAll: () => Promise<Page>;
};

export { password, postPortal, signInAs, signUp, type Person };
export const portalUrl = `${testPublicUrl}/profile/developer`;

/** The path, below `/profile/developer`, of the last link printed for a person. */
export function linkOf({ service }: Pick<PortalBrowser, 'service'>, email: string): string {
  return `/set-password#${printedToken(service, email)}`;
}

/** The path of the last link printed that changes an address. */
export function addressLinkOf({ service }: Pick<PortalBrowser, 'service'>): string {
  return `/change-address#${addressTokenOf(service.printed.at(-1) ?? '')}`;
}

const defaultViewport = { width: 1280, height: 720 };

/** Retries at once, so that nobody waits for a receiver that fails. */
const env = {
  ...loopbackAllowed,
  WEBHOOK_RETRY_BASE_MS: '1',
  WEBHOOK_RETRY_FACTOR: '1',
};

/** `providers`: where else a window may go, to sign in there. */
export async function openPortal(
  given: Record<string, string> = {},
  {
    providers = [],
    chatOrigins,
  }: { providers?: string[] } & Pick<TestServiceOptions, 'chatOrigins'> = {},
): Promise<PortalBrowser> {
  let browser: Browser | undefined;
  // Before the service, which would wait for what the browser has opened and not used yet.
  after(() => browser?.close());
  const service = await startTestService({
    env: { ...env, ...given },
    worker: true,
    ...(chatOrigins && { chatOrigins }),
  });
  const { host: address } = new URL(service.url);
  const launched = await launchBrowser([
    `--host-resolver-rules=MAP ${new URL(testPublicUrl).host} ${address}`,
  ]);
  browser = launched;
  const complaints: string[] = [];
  after(() => assert.deepEqual(complaints, [], 'what the pages complained of'));
  const windows: BrowserContext[] = [];
  let shared: { page: Page; isFree: boolean } | undefined;
  // Pages keep asking the service while they are open, which slows the tests that follow.
  afterEach(async () => {
    await Promise.all(windows.splice(0).map((context) => context.close()));
    if (!shared || shared.isFree) return;
    if (shared.page.isClosed()) shared = undefined;
    else {
      await clear(shared.page);
      shared.isFree = true;
    }
  });
  const openContext = async (options: BrowserContextOptions) => {
    const context = await launched.newContext({ reducedMotion: 'reduce', ...options });
    watch(context, providers, complaints);
    return context;
  };
  const openForAll = async () => (await openContext({})).newPage();
  const openNew = async (options: BrowserContextOptions) => {
    const context = await openContext(options);
    windows.push(context);
    return context.newPage();
  };
  const openShared = async (viewport = defaultViewport) => {
    shared ??= { page: await openForAll(), isFree: true };
    shared.isFree = false;
    await shared.page.setViewportSize(viewport);
    return shared.page;
  };
  return {
    service,
    openForAll,
    async open({ as, path = '', url = `${portalUrl}${path}`, isNew, viewport, ...options } = {}) {
      const isPlain = !isNew && viewport !== null && Object.keys(options).length === 0;
      const page =
        isPlain && shared?.isFree !== false
          ? await openShared(viewport)
          : await openNew({ ...options, ...(viewport !== undefined && { viewport }) });
      if (as) await page.context().addCookies(cookiesOf(as));
      await page.goto(url);
      return page;
    },
  };
}

/** A page of the same address keeps the process, with the scripts that it has compiled. */
async function clear(page: Page): Promise<void> {
  const context = page.context();
  const others = context.pages().filter((other) => other !== page);
  await Promise.all(others.map((other) => other.close()));
  await page.removeAllListeners('request', { behavior: 'ignoreErrors' });
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  await context.setOffline(false);
  // First, because what the page still asks for would be answered with cookies.
  await page.goto(`${testPublicUrl}/robots.txt`);
  await page.evaluate('localStorage.clear(), sessionStorage.clear()');
  await context.clearCookies();
}

/** The same, with an OpenID Connect provider to sign in with. */
export async function openPortalWithProvider(
  name: string,
): Promise<PortalBrowser & { provider: OidcProvider }> {
  const provider = await startOidcProvider();
  const portal = await openPortal(
    {
      OIDC_ISSUER_URL: provider.issuer,
      OIDC_CLIENT_ID: provider.client.id,
      OIDC_CLIENT_SECRET: provider.client.secret,
      OIDC_NAME: name,
    },
    { providers: [provider.issuer] },
  );
  return { ...portal, provider };
}

/** Simulates a sign-in in another window of the same browser: this window then has the cookies of the other account. */
export async function switchCookies(page: Page, to: Person): Promise<void> {
  await page.context().clearCookies();
  await page.context().addCookies(cookiesOf(to));
}

/** Simulates a return to this window from another one, which covered it (`before`) or was next to it (`beside`). */
export async function comeBack(page: Page, from: 'before' | 'beside' = 'beside'): Promise<void> {
  const event = from === 'before' ? 'visibilitychange' : 'focus';
  await page.evaluate(`window.dispatchEvent(new Event('${event}'))`);
}

/** Lets the service do what the next request to this path, below `/portal/api`, asks for by `method`, and loses its response. */
export async function loseResponse(page: Page, method: string, path: string): Promise<void> {
  const session = await page.context().newCDPSession(page);
  await session.send('Fetch.enable', {
    patterns: [{ urlPattern: `*/portal/api${path}`, requestStage: 'Response' }],
  });
  session.on('Fetch.requestPaused', ({ requestId, request }) => {
    // The window may have closed meanwhile.
    if (request.method !== method)
      void session.send('Fetch.continueRequest', { requestId }).catch(() => {});
    else
      void session
        .send('Fetch.failRequest', { requestId, errorReason: 'ConnectionReset' })
        .then(() => session.detach());
  });
}

/**
 * Goes to another address of the portal as a link does, which takes a fifth of the processor time of loading it. What the
 * page before shows stays until the next one is drawn, so wait for what only that one has.
 */
export async function visit(page: Page, url: string): Promise<void> {
  await page.evaluate(
    `history.pushState({ idx: (history.state?.idx ?? 0) + 1, key: crypto.randomUUID(), usr: null }, '', ${JSON.stringify(url)}),
    window.dispatchEvent(new PopStateEvent('popstate', { state: history.state }))`,
  );
}

/** Waits until a whole response has arrived. A request that the page has given up for a newer one never ends so. */
export function arrival(page: Page, predicate: (request: { url: () => string }) => boolean) {
  return page.waitForEvent('requestfinished', predicate);
}

/** Waits until the browser has painted what has arrived. */
export async function drawn(page: Page): Promise<void> {
  await page.evaluate(
    'new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))',
  );
}

function cookiesOf({ credentials }: Person) {
  return (credentials['cookie'] ?? '').split('; ').map((pair) => {
    const [name = '', ...value] = pair.split('=');
    return { name, value: value.join('='), url: testPublicUrl };
  });
}

/** A refused request is no complaint of the page's: the browser writes those of 4xx and 5xx itself. */
function watch(context: BrowserContext, providers: string[], complaints: string[]): void {
  context.on('console', (message) => {
    if (
      ['error', 'warning'].includes(message.type()) &&
      !message.text().startsWith('Failed to load resource')
    )
      complaints.push(message.text());
  });
  context.on('weberror', (error) => complaints.push(String(error.error())));
  context.on('request', (request) => {
    const url = new URL(request.url());
    const isOurs = ['data:', 'blob:'].includes(url.protocol) || url.origin === testPublicUrl;
    const goesThere = request.isNavigationRequest() && providers.includes(url.origin);
    if (!isOurs && !goesThere) complaints.push(`a request to ${url.origin}`);
  });
}

/**
 * `node:test` as the files of a lane have it. The runner finds the test that calls it by async hooks on every promise, which
 * take an eighth of a process's time. Here the context that each test is given says which it is.
 */
import { AsyncLocalStorage, createHook } from 'node:async_hooks';
import * as runner from 'node:test';
import type { HookFn, HookOptions, TestContext, TestFn, TestOptions } from 'node:test';

const contexts = new AsyncLocalStorage<TestContext>();
/** While it is loaded, each module continues without a context after it has waited. */
let ofFile: TestContext | undefined;

function current(): TestContext {
  const context = contexts.getStore() ?? ofFile;
  if (!context) throw new Error('no test file runs');
  return context;
}

type Given = [name: string, fn: TestFn] | [name: string, options: TestOptions, fn: TestFn];

export function test(...given: Given): Promise<void> {
  const [name, options, fn] = given.length === 2 ? [given[0], {}, given[1]] : given;
  return current().test(name, options, (context) =>
    contexts.run(context, () => (fn as (context: TestContext) => Promise<void>)(context)),
  );
}

export default test;
export { test as describe, test as suite };
export const { mock, run } = runner;
export const after = (fn: HookFn, options?: HookOptions) => current().after(fn, options);
export const afterEach = (fn: HookFn, options?: HookOptions) => current().afterEach(fn, options);
export const before = (fn: HookFn, options?: HookOptions) => current().before(fn, options);
export const beforeEach = (fn: HookFn, options?: HookOptions) => current().beforeEach(fn, options);

/** What nobody catches fails the file, whose tests may wait for what has thrown. */
export async function testFile(
  name: string,
  timeout: number,
  load: () => Promise<unknown>,
): Promise<void> {
  const failure = new AbortController();
  const fail = (error: unknown) => {
    console.error(`${name}:`, error);
    failure.abort(error);
  };
  process.on('uncaughtException', fail).on('unhandledRejection', fail);
  await withoutHooks(() =>
    runner.test(name, { timeout, signal: failure.signal }, async (context) => {
      ofFile = context;
      await contexts.run(context, load);
    }),
  );
  process.off('uncaughtException', fail).off('unhandledRejection', fail);
}

/** The runner enables its hooks with its first test. */
function withoutHooks<T>(work: () => T): T {
  const hook = Object.getPrototypeOf(createHook({})) as object;
  const enable: unknown = Reflect.get(hook, 'enable');
  Object.assign(hook, { enable: () => hook });
  try {
    return work();
  } finally {
    Object.assign(hook, { enable });
  }
}

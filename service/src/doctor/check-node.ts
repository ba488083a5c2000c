import { failed, ok, type Finding } from './finding.ts';

const oldestMajor = 24;

/** `version` as `process.versions.node` has it. */
export function checkNode(version: string): Finding {
  if (Number(version.split('.')[0]) >= oldestMajor) return ok('node', `Node.js ${version}`);
  return failed(
    'node',
    `Node.js ${version} is too old; ${oldestMajor} or later is needed`,
    'run it through npm (npm start, npx orgdir), which brings its own',
  );
}

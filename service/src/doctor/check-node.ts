import { failed, ok, type Finding } from './finding.ts';

const oldestMajor = 24;

/** `version` is in the format of `process.versions.node`. */
export function checkNode(version: string): Finding {
  if (Number(version.split('.')[0]) >= oldestMajor) return ok('node', `Node.js ${version}`);
  return failed(
    'node',
    `Node.js ${version} is too old; version ${oldestMajor} or later is required`,
    'run it through npm (npm start, npx orgdir), which uses the installed Node.js package',
  );
}

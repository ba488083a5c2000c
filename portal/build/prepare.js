/**
 * After an installation, removes what nothing needs, and builds the portal's pages, the documentation and the client's
 * downloads if Vite is installed. A production installation has none of them: the service then reports that they are
 * missing.
 */
import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';

function isInstalled() {
  try {
    import.meta.resolve('vite');
    return true;
  } catch {
    return false;
  }
}

/** The packages of Node.js have 67 MB of headers for compiling addons, and npm compiles none here. */
function removeHeaders() {
  for (const system of ['linux-x64', 'linux-arm64']) {
    const headers = new URL(`../../node_modules/node-${system}/include`, import.meta.url);
    rmSync(headers, { recursive: true, force: true });
  }
}

removeHeaders();
if (isInstalled()) {
  const workspaces = ['portal', 'docs', 'client'].map((name) => `--workspace=@orgdir/${name}`);
  const { status } = spawnSync('npm', ['run', '--silent', 'build', ...workspaces], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  process.exitCode = status ?? 1;
}

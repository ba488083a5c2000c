/**
 * Builds the portal's pages, the documentation and the client's downloads after an installation, if Vite is installed. A
 * production installation has none of them: the service then reports that they are missing.
 */
import { spawnSync } from 'node:child_process';

function isInstalled() {
  try {
    import.meta.resolve('vite');
    return true;
  } catch {
    return false;
  }
}

if (isInstalled()) {
  const workspaces = ['portal', 'docs', 'client'].map((name) => `--workspace=@orgdir/${name}`);
  const { status } = spawnSync('npm', ['run', '--silent', 'build', ...workspaces], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  process.exitCode = status ?? 1;
}

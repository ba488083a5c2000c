/**
 * Builds the pages after an installation, if Vite is installed. In a production installation or an image it is not: the
 * pages are then copied from a build, or the service reports that they are missing.
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
  const { status } = spawnSync(
    'npm',
    ['run', '--silent', 'build', '--workspace=@orgdir/portal', '--', '--logLevel=warn'],
    {
      stdio: 'inherit',
    },
  );
  process.exitCode = status ?? 1;
}

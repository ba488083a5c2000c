/**
 * After an installation: builds the pages, where what they are built with is installed. Without it (a production's
 * installation, the image's) they come built from elsewhere, or the service says that they are missing.
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

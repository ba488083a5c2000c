/** Joins the modules of the package to one. Comments stay, so that its users can read it. */
import { build, type Rolldown } from 'vite';

/** `packageFolder` has the output of tsc. */
export async function bundle(packageFolder: string, format: 'es' | 'cjs'): Promise<string> {
  const result = await build({
    configFile: false,
    root: packageFolder,
    logLevel: 'warn',
    build: {
      write: false,
      target: 'es2022',
      minify: false,
      lib: { entry: 'index.js', formats: [format] },
      // Comments name files relative to this folder, wherever npm runs.
      rolldownOptions: { cwd: packageFolder },
    },
  });
  const [{ output }] = result as Rolldown.RolldownOutput[] as [Rolldown.RolldownOutput];
  const [chunk, ...more] = output;
  if (more.length > 0) throw new Error('the client is more than one module');
  return chunk.code;
}

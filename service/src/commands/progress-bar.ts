export type ProgressBar = {
  /** `total` is null if it is unknown. */
  update(done: number, total: number | null, text: string): void;
  /** May be called twice. */
  stop(text: string): void;
};

/** Shows a bar on standard error if that is a terminal. It appears with the first step. */
export async function createProgressBar(title: string): Promise<ProgressBar> {
  // Loading the library takes time, which is wasted without a terminal.
  const progress = process.stderr.isTTY ? (await import('@clack/prompts')).progress : null;
  let bar: ReturnType<NonNullable<typeof progress>> | null = null;
  let shown = 0;
  return {
    update(done, total, text) {
      if (!progress) return;
      if (!bar) {
        bar = progress({ max: total || 1, size: 40, output: process.stderr, indicator: 'timer' });
        bar.start(title);
      }
      bar.advance(total === null ? 0 : done - shown, text);
      shown = done;
    },
    stop(text) {
      bar?.stop(text);
      bar = null;
    },
  };
}

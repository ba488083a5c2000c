/**
 * Shows how far a command is, on standard error if that is a terminal; null clears it. It reads no input, which belongs to
 * the command.
 */
export function createProgressLine(): (text: string | null) => void {
  if (!process.stderr.isTTY) return () => {};
  let isShown = false;
  return (text) => {
    if (text === null) return clear();
    if (!isShown) process.once('exit', clear);
    isShown = true;
    process.stderr.write(`\r${text}`);
  };

  /** Also called when a signal ends the process. */
  function clear(): void {
    if (isShown) process.stderr.write('\r\u001B[K');
    isShown = false;
    process.off('exit', clear);
  }
}

/**
 * Keeps this process alive when its output cannot be written, because the reader of a pipe has ended (`npm start |
 * head`, a crashed log collector) or the disk is full. The output is lost, but calls are still served.
 */
export function surviveOutputErrors(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
}

/** Writes to stdout; returns false when it is closed. */
export function printToStdout(text: string): Promise<boolean> {
  return new Promise((resolve) => process.stdout.write(text, (error) => resolve(!error)));
}

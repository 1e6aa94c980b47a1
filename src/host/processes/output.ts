/**
 * Lets this process live on when its output has nowhere to go: the reader of a pipe ended (`npm start | head`, a log
 * collector that died), or the disk of a log file is full. What it would print is lost; calls are answered all the
 * same.
 */
export function outliveOutput(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
}

/** Writes to stdout; answers false when nobody can read it. */
export function print(text: string): Promise<boolean> {
  return new Promise((resolve) => process.stdout.write(text, (error) => resolve(!error)));
}

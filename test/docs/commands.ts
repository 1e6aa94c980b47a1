/**
 * Runs commands of `darkroom` in this process, one after the other, and ends with an error after one that fails. Its
 * argument is a list of their words, as JSON.
 */
const MAIN = '../../src/client/cli/main.ts';
const commands: string[][] = JSON.parse(process.argv[2] ?? '[]');

// Each command listens to it.
process.stdout.setMaxListeners(0);
for (const [index, words] of commands.entries()) {
  process.argv.splice(2, Number.POSITIVE_INFINITY, ...words);
  await import(`${MAIN}?${index}`);
  if (process.exitCode !== 0) throw new Error(`darkroom ${words.join(' ')}`);
}

/**
 * Ends the process where a command was called for its help, or with an argument that it does not know: nothing is begun
 * by a call that means something else.
 * @param usage what `--help` prints.
 * @param known the options that the command takes.
 */
export function endOnHelp(words: readonly string[], usage: string, known: readonly string[] = []): void {
  if (words.includes('--help') || words.includes('-h')) {
    process.stdout.write(usage);
    process.exit(0);
  }
  const unknown = words.find((word) => !known.includes(word));
  if (unknown === undefined) return;
  process.stderr.write(`"${unknown}" is no option here.\n${usage}`);
  process.exit(2);
}

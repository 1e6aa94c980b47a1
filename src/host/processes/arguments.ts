/**
 * Ends the process if a command was called with `--help` or with an unknown argument, so that a mistake starts nothing.
 * @param usage the text that `--help` prints.
 * @param known the options of the command.
 */
export function endOnHelp(words: readonly string[], usage: string, known: readonly string[] = []): void {
  if (words.includes('--help') || words.includes('-h')) {
    process.stdout.write(usage);
    process.exit(0);
  }
  const unknown = words.find((word) => !known.includes(word));
  if (unknown === undefined) return;
  process.stderr.write(`"${unknown}" is not an option here.\n${usage}`);
  process.exit(2);
}

import { parseArgs } from 'node:util';
import type { BackupReport } from '../../platform/stores/backup.ts';
import type { Coordination } from '../../platform/stores/coordination/port.ts';
import type { DocumentStore } from '../../platform/stores/documents/port.ts';

/** The parts of the service that commands need, whichever process runs them. */
export interface StoresCommandContext {
  documents: DocumentStore;
  coordination: Coordination;
  planIds: readonly string[];
  /** The base address at which the service is reached. */
  publicUrl: string;
  now: () => Date;
  /** Copies the embedded stores into a new directory; absent with MongoDB and Redis. */
  backUp?: ((directory: string, onProgress: (line: string) => void) => Promise<BackupReport>) | undefined;
}

export interface CommandContext extends StoresCommandContext {
  /** The person and the process that run the command, such as `anna on host-a, pid 4711`. */
  by: string;
  /** The folder in which the command was given, to which its paths are relative. */
  folder: string;
  /** Shows a line to the operator while the command runs. */
  onProgress(line: string): void;
}

/** The part of the context that commands for running processes need. */
export type LiveCommandContext = Pick<CommandContext, 'coordination' | 'by'>;

/** The result of a command: an object for `--json`, and text for a person. */
export interface CommandResult {
  data: Record<string, unknown>;
  text: string;
}

/** Thrown for a wrong command line. The message shows the right one. */
export class CommandUsageError extends Error {
  override readonly name = 'CommandUsageError';
}

/** The arguments and options of a command line. */
export interface ParsedCommandLine {
  /** The required arguments, in the order in which the command's `takes` names them. */
  words: readonly string[];
  options: Readonly<Record<string, string | true | undefined>>;
}

export interface AdminCommand<C = CommandContext> {
  /** Noun and verb, such as `account create`. */
  name: string;
  /** What the command does, in one sentence for the help. */
  about: string;
  /** The required arguments after the name, such as `ACCOUNT`; none if absent. */
  takes?: readonly string[];
  /**
   * The options by name, with the name of the value that each takes; null for a flag. The command has no options if
   * absent.
   */
  options?: Readonly<Record<string, string | null>>;
  run(given: ParsedCommandLine, context: C): Promise<CommandResult>;
}

/** The usage line of a command, with its options in brackets: `NAME ARGUMENT [--flag] [--option VALUE]`. */
export function commandUsageText({ name, takes = [], options = {} }: AdminCommand): string {
  const optional = Object.entries(options).map(([option, value]) =>
    value === null ? `[--${option}]` : `[--${option} ${value}]`,
  );
  return [name, ...takes, ...optional].join(' ');
}

/**
 * Parses the words of a command line.
 * @throws CommandUsageError for an option that the command does not have, and for a wrong number of arguments.
 */
export function parseArguments(command: AdminCommand, words: readonly string[]): ParsedCommandLine {
  const { takes = [] } = command;
  const { positionals, values } = parseWords(command, words);
  const missing = takes.slice(positionals.length);
  const [surplus] = positionals.slice(takes.length);
  if (missing.length > 0)
    throw usageError(command, `${missing.join(' and ')} ${missing.length === 1 ? 'is' : 'are'} missing`);
  if (surplus !== undefined) throw usageError(command, `"${surplus}" is one word too many`);
  return { words: positionals, options: values };
}

function parseWords(command: AdminCommand, words: readonly string[]) {
  const own = Object.entries(command.options ?? {}).map(
    ([option, value]) => [option, { type: value === null ? 'boolean' : 'string' }] as const,
  );
  try {
    const options = { ...Object.fromEntries(own), json: { type: 'boolean' } } as const;
    const { positionals, values } = parseArgs({
      args: joinNegativeValues(words),
      allowPositionals: true,
      options,
    });
    return { positionals, values: values as ParsedCommandLine['options'] };
  } catch (error) {
    const [sentence = ''] = (error as Error).message.split('. ');
    throw usageError(command, sentence);
  }
}

/** Joins an option and its value by `=`. Otherwise `--credits -5` would be parsed as an option -5. */
function joinNegativeValues(words: readonly string[]): string[] {
  const read: string[] = [];
  for (const word of words) {
    const option = read.at(-1) ?? '';
    if (/^-\d/.test(word) && /^--[a-z]+$/.test(option)) read[read.length - 1] = `${option}=${word}`;
    else read.push(word);
  }
  return read;
}

function usageError(command: AdminCommand, sentence: string): CommandUsageError {
  return new CommandUsageError(`${sentence.replace(/\.$/, '')}: ${commandUsageText(command)}`);
}

/** The text of a list: one line per row, or the given sentence if the list is empty. */
export function formatList(lines: readonly string[], sentence: string): string {
  return lines.length > 0 ? lines.join('\n') : sentence;
}

/** Formats rows as a text table. Columns are as wide as their widest cells. */
export function formatTable(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? '').length)),
  );
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

import { resolve } from 'node:path';
import type { Settings } from '../../../config/index.ts';
import { didYouMeanHint } from '../../platform/ids/nearest.ts';
import { backUpEmbeddedStores } from '../../platform/stores/backup.ts';
import { hasEmbeddedStores, type Stores } from '../../platform/stores/open.ts';
import { readPlans } from '../../product/billing/plans.ts';
import { ACCOUNT_COMMANDS } from './account-commands.ts';
import {
  type AdminCommand,
  type CommandContext,
  type CommandResult,
  CommandUsageError,
  commandUsageText,
  parseArguments,
  type StoresCommandContext,
} from './command.ts';
import { JOB_COMMANDS } from './job-commands.ts';
import { KEY_COMMANDS } from './key-commands.ts';
import { LIVE_COMMANDS } from './live-commands.ts';
import { MIGRATE_COMMAND } from './migration.ts';
import { WEBHOOK_COMMANDS } from './webhook-commands.ts';

/** The context of the operator's commands, which run in the primary or in their own process. */
export function createStoresContext(
  { http, stores: settings }: Settings,
  stores: Stores,
): StoresCommandContext {
  return {
    ...stores,
    publicUrl: http.PUBLIC_URL || `http://${http.HOST}:${http.PORT}`,
    planIds: readPlans().map(({ id }) => id),
    now: () => new Date(),
    backUp: hasEmbeddedStores(settings)
      ? (...given) => backUpEmbeddedStores(settings.DATA_DIR, ...given)
      : undefined,
  };
}

const BACKUP_COMMAND: AdminCommand = {
  name: 'backup',
  about:
    'Copies the embedded stores into a new directory while the service runs. To go back, start the service with DATA_DIR on the copy.',
  takes: ['DIRECTORY'],
  async run({ words }, { backUp, folder, onProgress }) {
    if (backUp === undefined)
      throw new CommandUsageError(
        'The stores are not embedded: copy them with mongodump, and the bucket with its own tools.',
      );
    const { directory, objects } = await backUp(resolve(folder, words[0] ?? ''), onProgress);
    return {
      data: { directory, objects },
      text: `${directory} holds the documents and ${objects} objects. To go back, stop the service and start it with DATA_DIR=${directory}.`,
    };
  },
};

const ADMIN_COMMANDS: readonly AdminCommand[] = [
  ...ACCOUNT_COMMANDS,
  ...KEY_COMMANDS,
  ...LIVE_COMMANDS,
  ...WEBHOOK_COMMANDS,
  ...JOB_COMMANDS,
  BACKUP_COMMAND,
  MIGRATE_COMMAND,
];

/** The help text, which lists every command with its options. */
const ADMIN_USAGE = `Commands of the operator:
${ADMIN_COMMANDS.map((command) => `  ${commandUsageText(command)}`).join('\n')}
Every command takes --json and --help.`;

/**
 * The help text for all commands, for the commands of a noun, or for one command. Null without `--help`.
 * @throws CommandUsageError for an unknown command.
 */
export function commandHelp(words: readonly string[]): string | null {
  if (!words.some((word) => word === '--help' || word === '-h' || word === 'help')) return null;
  const [noun, verb] = words.filter((word) => !word.startsWith('-') && word !== 'help');
  if (noun === undefined) return ADMIN_USAGE;
  const ofNoun = ADMIN_COMMANDS.filter(({ name }) => name === noun || name.startsWith(`${noun} `));
  const matching = ofNoun.filter(
    ({ name }) => verb === undefined || name === noun || name === `${noun} ${verb}`,
  );
  if (matching.length === 0) throw unknownCommandError(noun, verb);
  return matching.map((command) => `${commandUsageText(command)}\n    ${command.about}`).join('\n');
}

/**
 * Runs one command of the operator on the stores.
 * @throws CommandUsageError or ApiError with a sentence for the operator.
 */
export async function runCommand(words: readonly string[], context: CommandContext): Promise<CommandResult> {
  const [noun, verb] = words.filter((word) => !word.startsWith('-'));
  if (noun === undefined) throw new CommandUsageError(ADMIN_USAGE);
  const command =
    ADMIN_COMMANDS.find(({ name }) => name === `${noun} ${verb}`) ??
    ADMIN_COMMANDS.find(({ name }) => name === noun);
  if (command === undefined) throw unknownCommandError(noun, verb);
  const rest = [...words];
  for (const word of command.name.split(' ')) rest.splice(rest.indexOf(word), 1);
  return command.run(parseArguments(command, rest), context);
}

/** Whether the command addresses the running processes. Such a command fails when no service runs. */
export function needsRunningService(words: readonly string[]): boolean {
  const [noun] = words.filter((word) => !word.startsWith('-'));
  return LIVE_COMMANDS.some(({ name }) => name === noun);
}

/** The error for a noun or a verb that no command has. It lists the possible ones. */
function unknownCommandError(noun: string, verb: string | undefined): CommandUsageError {
  const verbs = ADMIN_COMMANDS.filter(({ name }) => name.startsWith(`${noun} `)).map(
    ({ name }) => name.split(' ')[1],
  );
  return new CommandUsageError(`${unknownCommandMessage(noun, verb, verbs.join(', '))}\n${ADMIN_USAGE}`);
}

function unknownCommandMessage(noun: string, verb: string | undefined, verbs: string): string {
  const nouns = [...new Set(ADMIN_COMMANDS.map(({ name }) => name.split(' ')[0] ?? ''))];
  if (verbs === '')
    return `"${noun}" is not a command.${didYouMeanHint(noun, nouns)} Commands are ${nouns.join(', ')}.`;
  if (verb === undefined) return `The verb after ${noun} is missing: ${verbs}.`;
  return `"${noun} ${verb}" is not a command: ${noun} takes ${verbs}.`;
}

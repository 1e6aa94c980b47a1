import { ApiError, invalidParamError } from '../../platform/http/errors/errors.ts';
import { CommandUsageError, type LiveCommandContext, parseArguments } from '../admin/command.ts';
import { LIVE_COMMANDS } from '../admin/live-commands.ts';

/**
 * Runs a command of `npm run admin` for running processes, with the same bounds and the same effect.
 * @param param the field of the call to name if a word is refused.
 * @returns what each process answered.
 * @throws ApiError invalid_param for a word that is refused; invalid_state when a process could not do it.
 */
export async function runOperatorCommand(
  { name, words, param }: { name: 'set' | 'drain' | 'log'; words: readonly string[]; param: string },
  context: LiveCommandContext,
): Promise<string[]> {
  const command = LIVE_COMMANDS.find((one) => one.name === name);
  if (command === undefined) throw new Error(`There is no command ${name}.`);
  try {
    const { text } = await command.run(parseArguments(command, words), context);
    return text.split('\n');
  } catch (error) {
    const { message } = error as Error;
    if (error instanceof CommandUsageError) throw invalidParamError(param, message);
    if (error instanceof ApiError) throw error;
    throw new ApiError('invalid_state', message, { cause: error });
  }
}

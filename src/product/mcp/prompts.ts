import {
  type GetPromptResult,
  type Prompt,
  ProtocolError,
  ProtocolErrorCode,
} from '@modelcontextprotocol/server';

/** Tasks that a person can start by name in an MCP host. */

const EDIT = {
  name: 'edit_picture',
  title: 'Edit a picture',
  description: 'Changes a picture as you wish, checks the result by eye, and gives its link.',
  arguments: [
    {
      name: 'picture',
      description: 'An asset id, an address, or a path where the server runs here.',
      required: true,
    },
    { name: 'wish', description: 'What is to change, in your words.', required: true },
  ],
};

export const MCP_PROMPTS: readonly Prompt[] = [EDIT];

/**
 * Fills in a prompt.
 * @throws ProtocolError for a prompt that does not exist, or an argument that is missing.
 */
export function readMcpPrompt(name: string, { picture, wish }: Record<string, string> = {}): GetPromptResult {
  if (name !== EDIT.name)
    throw invalid(`There is no prompt ${JSON.stringify(name.slice(0, 100))}: send ${EDIT.name}.`);
  if (!picture || !wish)
    throw invalid(`${picture ? 'wish' : 'picture'} is missing: ${EDIT.name} needs both.`);
  const text = `Edit the picture ${picture} as I wish: ${wish}

Look at it first. Read the parameters of each op that you need by ops. Send all steps in one run, with dryRun first if they may be wrong. Look at the result, and change the steps until it is what I asked for. Then give me its link, and say in one sentence what you did.`;
  return { description: EDIT.description, messages: [{ role: 'user', content: { type: 'text', text } }] };
}

function invalid(message: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message);
}

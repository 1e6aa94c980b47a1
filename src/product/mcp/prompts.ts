import {
  type GetPromptResult,
  type Prompt,
  ProtocolError,
  ProtocolErrorCode,
} from '@modelcontextprotocol/server';
import { likelyNames } from '../../platform/ids/nearest.ts';

/**
 * The instructions for the model that all tools share. They have at most 300 tokens, because every conversation
 * contains them. The descriptions of the tools do not repeat them.
 */
export const MCP_INSTRUCTIONS = `Darkroom edits, measures and makes pictures. Bytes never pass through you: send no base64.

An image argument is an asset id (ast_…), an http(s) URL, a link that a tool answered, or, where the server runs on your machine, a local path. Upload a file by ticket: POST it to its url (curl -F file=@photo.jpg URL), then use its asset.

A step is {op, parameters}: ops lists the ops, and with a name their parameters. Send all steps of a picture in one run: they are one pass, counted as one run. dryRun checks and prices, and does nothing. Links end after 5 minutes; save keeps results as assets, with a link of a week.

You see pixels by look alone, or by preview. AI ops (generate, edit, remove_background and the like) and many images go through job; AI ops cost credits, so send dryRun or maxCredits first. Results marked sandbox are invented.

A failure has error.code, param, and often details.fix or details.allowed: correction that argument and call again. Send details.instead where it is there; else, when retryable, wait and repeat the same call.`;

/** A task that a person can start by its name in an MCP host. */
const EDIT_PROMPT = {
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

export const MCP_PROMPTS: readonly Prompt[] = [EDIT_PROMPT];

/**
 * Fills a prompt with its arguments.
 * @throws ProtocolError for a prompt that does not exist, or an argument that is missing.
 */
export function readMcpPrompt(name: string, args: Record<string, string> = {}): GetPromptResult {
  const { picture, wish } = args;
  if (name !== EDIT_PROMPT.name)
    throw invalidPromptError(
      `There is no prompt ${JSON.stringify(name.slice(0, 100))}: send ${EDIT_PROMPT.name}.`,
      { param: 'name', fix: [{ param: 'name', replace: EDIT_PROMPT.name }] },
    );
  if (!picture || !wish)
    throw invalidPromptError(
      `${picture ? 'wish' : 'picture'} is missing: ${EDIT_PROMPT.name} needs both.`,
      promptFix({ ...args }),
    );
  const text = `Edit the picture ${picture} as I wish: ${wish}

Look at it first. Read the parameters of each op that you need by ops. Send all steps in one run, with dryRun first if they may be wrong. Look at the result, and change the steps until it is what I asked for. Then give me its link, and say in one sentence what you did.`;
  return {
    description: EDIT_PROMPT.description,
    messages: [{ role: 'user', content: { type: 'text', text } }],
  };
}

/** The most arguments that are compared with the names of the missing ones. */
const MAX_COMPARED_ARGUMENTS = 20;

/** The missing arguments of the prompt, and the new names of those that were sent under another name. */
function promptFix(sent: Record<string, string>) {
  const names = EDIT_PROMPT.arguments.map(({ name }) => name);
  const missing = names.filter((name) => !sent[name]);
  const fix = Object.keys(sent)
    .slice(0, MAX_COMPARED_ARGUMENTS)
    .flatMap((wrong) => {
      const [rename] = names.includes(wrong) ? [] : likelyNames(wrong, missing);
      return rename === undefined ? [] : [{ param: `arguments.${wrong}`, rename: `arguments.${rename}` }];
    });
  return { missing, ...(fix.length === missing.length && { fix }) };
}

function invalidPromptError(message: string, data: object): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message, data);
}

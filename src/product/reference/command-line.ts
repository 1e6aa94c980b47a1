import type { PageSample } from '../../platform/pages/page.ts';
import type { OpDefinition } from '../catalogue/schema.ts';

/** The maximum length of a command on one line. */
const MAX_COMMAND_LINE_CHARACTERS = 64;

/**
 * A sample that runs an op with the command `darkroom`. The command reads the address and the key from the environment
 * variables DARKROOM_URL and DARKROOM_KEY. Undefined for an op without a command.
 */
export function commandLineSample(definition: OpDefinition): PageSample | undefined {
  const words = commandWords(definition);
  return words && { label: 'Command line', language: 'sh', code: wrapCommand(words) };
}

/**
 * A command with its options, as a person types it.
 * @param options the values of the options, by name.
 * @param output the name of the file for the result.
 */
export function commandLineText(words: readonly string[], options: object, output: string): string {
  return wrapCommand([words.join(' '), ...optionsOf(options), `-o ${output}`]);
}

/** The words of a command on one line. If it would be too long, each word has its own line. */
function wrapCommand(words: readonly string[]): string {
  const line = words.join(' ');
  return line.length <= MAX_COMMAND_LINE_CHARACTERS ? line : words.join(' \\\n  ');
}

function commandWords({
  op,
  kind,
  endpoint,
  syncEndpoint = endpoint,
  syncParams,
  syncExample = {},
  example = {},
}: OpDefinition): string[] | undefined {
  if (syncEndpoint === '/images/transform') {
    const { op: _, ...parameters } = syncExample;
    const { format = 'jpg' } = parameters;
    return [`darkroom transform photo.jpg --op ${op}`, ...optionsOf(parameters), `-o result.${format}`];
  }
  if (syncParams !== undefined) {
    const { templateId, data } = syncExample as { templateId?: string; data?: object };
    const values = Object.entries(data ?? {}).map(([name, value]) => `--set ${name}=${shellWord(value)}`);
    return [`darkroom render --template ${templateId}`, ...values, '-o result.png'];
  }
  if (syncEndpoint !== undefined) {
    const name = syncEndpoint.split('/').at(-1);
    return [`darkroom ${name} photo.jpg`, ...optionsOf(syncExample)];
  }
  if (kind !== 'ai') return undefined;
  const {
    op: _,
    assetIds,
    parameters,
    ...fields
  } = example as { parameters?: object; [name: string]: unknown };
  const file = assetIds === undefined ? '' : ' photo.jpg';
  return [`darkroom job run${file} --op ${op}`, ...optionsOf({ ...fields, ...parameters }), '-o results'];
}

function optionsOf(values: object): string[] {
  return Object.entries(values).map(([name, value]) => `--${name} ${shellWord(value)}`);
}

function shellWord(value: unknown): string {
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
  return /^[\w.,:-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

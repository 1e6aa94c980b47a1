import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import type { Darkroom } from '../client.ts';
import { NotFoundError } from '../errors.ts';
import type { OpDefinition, OpParameter } from '../schema.ts';
import { UsageError } from './exit-codes.ts';
import { didYouMeanHint } from './nearest.ts';

type ParseOptions = NonNullable<NonNullable<Parameters<typeof parseArgs>[0]>['options']>;

/** What was parsed from the arguments of a command that takes an op. */
export interface ParsedOp {
  /** The options of the command. */
  values: Record<string, string | string[] | boolean | undefined>;
  positionals: string[];
  /** The op; absent if none was given. */
  op?: OpDefinition;
  /** The parameters of the op. Each value has the type of its parameter. */
  parameters: Record<string, unknown>;
}

const NUMBER_PATTERN = /^-?\d+(\.\d+)?$/;

/**
 * Parses the options of a command together with the parameters of the op in --op. The parameters and their bounds are
 * read from the service, so that this program need not be updated for new ops.
 * @throws UsageError for an op or an option that does not exist, or a number outside of its bounds.
 */
export async function parseOp(
  args: string[],
  own: ParseOptions,
  readClient: () => Promise<Darkroom>,
): Promise<ParsedOp> {
  const options: ParseOptions = { op: { type: 'string' }, ...own };
  const { values: first } = parseArgs({ args, options, strict: false });
  if (typeof first.op !== 'string') {
    refuseUnknownOptions(args, Object.keys(options), (name) => {
      const message = `There is no --${name} without an op: name one, as in --op resize --width 800.`;
      const hint = didYouMeanHint(
        `--${name}`,
        Object.keys(options).map((option) => `--${option}`),
      );
      return new UsageError(`${message} darkroom ops lists them.${hint}`);
    });
    const { values, positionals } = parseArgs({ args, options, allowPositionals: true });
    return { values: values as ParsedOp['values'], positionals, parameters: {} };
  }
  const op = await readOpDefinition(await readClient(), first.op);
  const names = parametersByOption(op, Object.keys(options));
  const joined = joinOptionValues(args, op, names);
  const ofOp: ParseOptions = Object.fromEntries(
    Array.from(names.keys(), (name) => [name, { type: 'string' }]),
  );
  const all = { ...options, ...ofOp };
  refuseUnknownOptions(joined, Object.keys(all), (name) =>
    unknownParameterError(op, name, Object.keys(options)),
  );
  const parsed = parseArgs({ args: joined, options: all, allowPositionals: true });
  const values = parsed.values as ParsedOp['values'];
  const given = Array.from(names.keys()).flatMap((option): [string, string][] => {
    const { [option]: text } = values;
    return typeof text === 'string' ? [[option, text]] : [];
  });
  return { values, positionals: parsed.positionals, op, parameters: readParameters(op, given) };
}

/**
 * Converts options to the parameters of an op. Each value gets the type of its parameter.
 * @param given the name of each option, and its text.
 * @throws UsageError for a parameter that the op does not have, or a number outside of its bounds.
 */
export function readParameters(
  op: OpDefinition,
  given: readonly (readonly [option: string, text: string])[],
): Record<string, unknown> {
  const names = parametersByOption(op);
  const parameters: Record<string, unknown> = {};
  for (const [option, text] of given) {
    const name = names.get(option) ?? '';
    const parameter = op.params[name];
    if (parameter === undefined) throw unknownParameterError(op, option);
    parameters[name] = parseParameter(option, text, parameter);
  }
  return parameters;
}

/**
 * The parameters of an op by option name. A parameter such as minSsim has two options: --minSsim and --min-ssim.
 * @param own the command's own options, which take precedence over those of the op.
 */
function parametersByOption({ params }: OpDefinition, own: readonly string[] = []): Map<string, string> {
  const kebab = (name: string) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  const pairs = Object.keys(params).flatMap((name) => [[name, name] as const, [kebab(name), name] as const]);
  return new Map(pairs.filter(([option]) => !own.includes(option)));
}

/** Throws an error about the first unknown option. The message contains no value, because a value may be a secret. */
function refuseUnknownOptions(
  args: readonly string[],
  known: readonly string[],
  refusal: (name: string) => UsageError,
): void {
  for (const arg of args) {
    const [, name] = /^--(\w[^=]*)/.exec(arg) ?? [];
    if (name !== undefined && !known.includes(name)) throw refusal(name);
  }
}

/** @param own the options of the command itself. */
function unknownParameterError(
  { op, params }: OpDefinition,
  option: string,
  own: readonly string[] = [],
): UsageError {
  const names = Object.keys(params).map((name) => `--${name}`);
  const hint = didYouMeanHint(`--${option}`, [...names, ...own.map((name) => `--${name}`)]);
  return new UsageError(`${op} has no --${option}.${hint} Its parameters are ${names.join(', ')}.`);
}

/**
 * Reads the definition of an op.
 * @throws UsageError for an op that does not exist.
 */
export async function readOpDefinition(client: Darkroom, name: string): Promise<OpDefinition> {
  try {
    return await client.ops.get(name);
  } catch (error) {
    if (error instanceof NotFoundError) throw new UsageError(error.message, { cause: error });
    throw error;
  }
}

/**
 * Joins each option of an op with its value, as in --angle=-90. `parseArgs` would otherwise refuse a value that begins
 * with a dash. A flag without a value becomes true.
 */
function joinOptionValues(
  args: readonly string[],
  { params }: OpDefinition,
  names: ReadonlyMap<string, string>,
): string[] {
  const joined: string[] = [];
  for (let index = 0; index < args.length; index += 1) {
    const [arg = '', next] = args.slice(index, index + 2);
    const name = arg.startsWith('--') ? names.get(arg.slice(2)) : undefined;
    if (name === undefined) {
      joined.push(arg);
      continue;
    }
    const isSwitch = params[name]?.type === 'boolean';
    const isGiven = next !== undefined && (!isSwitch || /^(true|false)$/i.test(next));
    if (isGiven) index += 1;
    joined.push(isGiven ? `${arg}=${next}` : isSwitch ? `${arg}=true` : arg);
  }
  return joined;
}

/**
 * Converts text to the type of a parameter. Words of an enumeration are not checked here, because the service does it.
 */
function parseParameter(name: string, text: string, { type, min, max }: OpParameter): unknown {
  const types = type.split(' or ');
  const isNumber = NUMBER_PATTERN.test(text);
  if (isNumber && (types.includes('integer') || types.includes('number'))) {
    const value = Number(text);
    const isOutside = value < (min ?? value) || value > (max ?? value);
    if (isOutside && types.length === 1)
      throw new UsageError(`--${name} is ${text}: it must be ${min ?? '…'} to ${max ?? '…'}.`);
    return value;
  }
  if (types.includes('boolean') && /^(true|false)$/i.test(text)) return text.toLowerCase() === 'true';
  if (types.some((one) => one === 'array' || one === 'object') && /^\s*[[{]/.test(text))
    return parseJsonOption(name, text);
  if (types.length === 1 && ['integer', 'number'].includes(type))
    throw new UsageError(`--${name} is ${JSON.stringify(text)}: it must be a number.`);
  return text;
}

/**
 * @throws UsageError unless exactly one of the options that define the work is given.
 */
export function requireExactlyOneWorkOption(works: readonly unknown[], alternative = ''): void {
  if (works.filter((work) => work !== undefined).length !== 1)
    throw new UsageError(`Say what to do by one of --op, --preset and --steps${alternative}.`);
}

/**
 * Reads a JSON list. The value of the option is either the JSON itself or the path of a file that contains it.
 * @throws UsageError
 */
export async function readListOption(name: string, value: string): Promise<unknown[]> {
  const isText = /^\s*[[{]/.test(value);
  const list = parseJsonOption(name, isText ? value : await readNamedFile(name, value));
  if (!Array.isArray(list)) throw new UsageError(`--${name} must hold a list as JSON, such as [{…}].`);
  return list;
}

/**
 * Reads the text of a file whose path is the value of an option.
 * @throws UsageError for a file that cannot be read.
 */
export async function readNamedFile(name: string, path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new UsageError(`--${name} names a file that cannot be read: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

export function parseJsonOption(name: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new UsageError(`--${name} is no JSON: ${(error as Error).message}`, { cause: error });
  }
}

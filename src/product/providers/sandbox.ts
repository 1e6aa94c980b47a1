import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SandboxTask } from '../../../workers/models/protocol.ts';
import type { ImageWorkers } from '../../imaging/images/image-workers.ts';
import { OnDemandThread } from '../../platform/concurrency/thread.ts';
import {
  type ModelRequest,
  type Provider,
  type ProviderCall,
  type RawModelAnswer,
  rejectedFault,
  unavailableFault,
} from './provider.ts';
import { sandboxAnswer, sandboxFactsOf } from './sandbox-answer.ts';

const SANDBOX_THREAD_URL = new URL('../../../workers/models/sandbox.ts', import.meta.url);

const SIZE_PATTERN = /^(\d{1,5})x(\d{1,5})$/;
const SIDE_BOUNDS_PX = { min: 64, max: 2_048 };
const MAX_GROWTH_PX = 2_000;
const MAX_SEED = 4_294_967_295;
/** The time limit for describing a picture, in milliseconds. The deadline of the attempt may come earlier. */
const DESCRIBE_TIMEOUT_MS = 60_000;

/**
 * Creates the provider that replaces real ones, without a key and a network. Equal requests get equal answers. Pictures
 * are transformed or drawn, facts are measured, and directives in the prompt make it fail as real providers do.
 */
export function createSandboxProvider(imageWorkers: ImageWorkers): Provider {
  const thread = new OnDemandThread<SandboxTask, Uint8Array<ArrayBuffer>>(SANDBOX_THREAD_URL);
  return {
    async run(request, context) {
      const { prompt = '', itemIndex, attempt } = request;
      const directives = parseSandboxDirectives(prompt, itemIndex, attempt);
      if (directives.waitMs > 0) await sleep(directives.waitMs, undefined, { signal: context.signal });
      if (directives.rejects) throw rejectedFault('The sandbox was told to reject this item.');
      if (directives.fails) throw unavailableFault('The sandbox was told to fail this item.');
      if (directives.answersGarbage) return invalidAnswerFor(request);
      return makeAnswer(request, directives.text, context);
    },
    close: thread.close,
  };

  async function makeAnswer(
    request: ModelRequest,
    text: string,
    { accountId, signal }: ProviderCall,
  ): Promise<RawModelAnswer> {
    if (request.op !== 'analyze')
      return { kind: 'image', bytes: await thread.run(sandboxTaskOf(request, text), signal) };
    const deadlineMs = Date.now() + DESCRIBE_TIMEOUT_MS;
    const call = { bytes: requireInput(request), accountId, work: 'job' as const, deadlineMs, signal };
    const { image } = await imageWorkers.describe(call).result;
    return { kind: 'json', value: sandboxAnswer(request.schema ?? {}, sandboxFactsOf(image)) };
  }
}

function invalidAnswerFor({ op }: ModelRequest): RawModelAnswer {
  if (op === 'analyze') return { kind: 'json', value: 'no object at all' };
  return { kind: 'image', bytes: new TextEncoder().encode('This is not a picture.') };
}

function sandboxTaskOf(request: ModelRequest, text: string): SandboxTask {
  const { op, parameters, itemIndex, prompt = '' } = request;
  const parseSentSeed = () => parseWholeNumber(parameters.seed ?? 0, 'seed', 0, MAX_SEED);
  switch (op) {
    case 'generate': {
      const seed = seedOf(prompt, parseSentSeed(), itemIndex);
      return { kind: 'draw', text: text === '' ? prompt : text, seed, ...parseSize(parameters.size) };
    }
    case 'edit': {
      const references = request.pictures.slice(1).map(({ bytes }) => hash('sha256', bytes));
      const seed = seedOf(prompt, parseSentSeed(), ...references);
      return { kind: 'recolour', picture: requireInput(request), seed };
    }
    case 'upscale':
      return { kind: 'enlarge', picture: requireInput(request), scale: parseScale(parameters.scale) };
    case 'expand':
      return { kind: 'expand', picture: requireInput(request), ...parseGrowth(parameters) };
    default:
      return { kind: 'cut-out', picture: requireInput(request) };
  }
}

function requireInput({ op, pictures: [input] }: ModelRequest): Uint8Array {
  if (input === undefined) throw rejectedFault(`${op} needs a picture.`);
  return input.bytes;
}

function parseSize(size: unknown = '512x512'): { width: number; height: number } {
  const [, width, height] = SIZE_PATTERN.exec(String(size)) ?? [];
  const sides = { width: Number(width), height: Number(height) };
  const isFine = Object.values(sides).every(
    (side) => side >= SIDE_BOUNDS_PX.min && side <= SIDE_BOUNDS_PX.max,
  );
  if (typeof size !== 'string' || !isFine)
    throw rejectedFault(
      `size must be WxH with sides from ${SIDE_BOUNDS_PX.min} to ${SIDE_BOUNDS_PX.max}, such as 512x512.`,
    );
  return sides;
}

function parseScale(scale: unknown = 2): number {
  if (scale !== 2 && scale !== 4) throw rejectedFault('scale must be one of 2, 4.');
  return scale;
}

function parseGrowth(parameters: ModelRequest['parameters']) {
  const parseSideGrowth = (side: string) => parseWholeNumber(parameters[side] ?? 0, side, 0, MAX_GROWTH_PX);
  const growth = {
    top: parseSideGrowth('top'),
    right: parseSideGrowth('right'),
    bottom: parseSideGrowth('bottom'),
    left: parseSideGrowth('left'),
  };
  if (Object.values(growth).every((pixels) => pixels === 0))
    throw rejectedFault('One of top, right, bottom and left must be above 0.');
  return growth;
}

function parseWholeNumber(value: unknown, name: string, min: number, max: number): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value;
  throw rejectedFault(`${name} must be a whole number from ${min} to ${max}.`);
}

/** A number that depends only on the parts, so that equal requests get equal pictures. */
function seedOf(...parts: readonly (string | number)[]): number {
  return hash('sha256', parts.join('\n'), 'buffer').readUInt32BE(0);
}

/** What the directives in a prompt request for one item. */
interface SandboxDirectives {
  rejects: boolean;
  fails: boolean;
  answersGarbage: boolean;
  waitMs: number;
  /** The prompt without the directives. */
  text: string;
}

const MAX_DIRECTIVE_WAIT_MS = 60_000;
const DIRECTIVE_PATTERN = /\[sandbox:(reject|fail|wait|garbage)(?:@([\d,\s]+)|=(\d+))?\]/g;

/**
 * Parses the directives of a prompt. `[sandbox:reject]` and `[sandbox:fail]` apply to all items, or with `@1,3` only to
 * the items with these indexes. `[sandbox:fail=2]` applies to the first two attempts of an item. There are also
 * `[sandbox:wait=MS]` and `[sandbox:garbage]`.
 */
export function parseSandboxDirectives(
  prompt: string,
  itemIndex: number,
  attempt: number,
): SandboxDirectives {
  const directives: SandboxDirectives = {
    rejects: false,
    fails: false,
    answersGarbage: false,
    waitMs: 0,
    text: prompt.replace(DIRECTIVE_PATTERN, ' ').replace(/\s+/g, ' ').trim(),
  };
  for (const [, directive, indexes, number] of prompt.matchAll(DIRECTIVE_PATTERN)) {
    const isForItem = indexes === undefined || indexes.split(',').map(Number).includes(itemIndex);
    if (directive === 'reject') directives.rejects ||= isForItem;
    else if (directive === 'garbage') directives.answersGarbage ||= isForItem;
    else if (directive === 'wait') directives.waitMs = Math.min(Number(number ?? 0), MAX_DIRECTIVE_WAIT_MS);
    else directives.fails ||= isForItem && (number === undefined || attempt <= Number(number));
  }
  return directives;
}

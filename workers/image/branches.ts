import type { Branched, BranchTask, Failure, Transformed } from '../protocol.ts';
import {
  convertColours,
  flattenEarly,
  flattenLate,
  flattensEarly,
  type OpenedPass,
  openPass,
  runPass,
  runSome,
} from './pipeline.ts';
import type { Size } from './pixels/geometry.ts';
import type { DeepPixels, Pixels } from './pixels/pixels.ts';
import { readableFile } from './readable.ts';
import { isLarger } from './sizing.ts';
import type { PassWork, PlannedStep } from './work.ts';

/**
 * Runs several passes over one file. Still pictures are decoded once, and the steps with which all passes begin are run
 * once. An animation, and a file whose metadata is kept, is decoded for each pass. A pass that fails leaves the others
 * as they are.
 */
export async function branch(task: BranchTask): Promise<Branched> {
  const outputs = await attempt(task);
  const timings = { decodeMs: 0, processMs: 0, encodeMs: 0 };
  for (const output of outputs) {
    if (output.kind === 'failure') continue;
    for (const part of ['decodeMs', 'processMs', 'encodeMs'] as const) timings[part] += output.timings[part];
  }
  return { kind: 'branched', outputs, timings };
}

type Output = Transformed | Failure;

async function attempt(task: BranchTask): Promise<Output[]> {
  const outputs = await runAll(task);
  const failed = outputs.flatMap(({ kind }, index) => (kind === 'failure' ? [index] : []));
  if (failed.length === 0 || task.header === undefined) return outputs;
  // The sender's reading of the header may have been wrong: see `transform`.
  const { header: _, ...unhinted } = task;
  const passes = task.passes.filter((_, index) => failed.includes(index));
  const again = (await runAll({ ...unhinted, passes })).values();
  return outputs.map((output) => (output.kind === 'failure' ? (again.next().value ?? output) : output));
}

async function runAll({ passes, ...file }: BranchTask): Promise<Output[]> {
  const readFile = readOnce();
  const opened: (OpenedPass | Failure)[] = [];
  for (const pass of passes) opened.push(await openPass({ ...file, kind: 'transform', pass }, readFile));
  const trunk = new Trunk(opened.flatMap((one) => ('work' in one && canShare(one.work) ? [one.work] : [])));
  const outputs: Output[] = [];
  for (const [index, one] of opened.entries()) {
    if ('work' in one) shareTime(one.work, opened.slice(index).filter(searches).length);
    outputs.push('work' in one ? await trunk.run(one) : one);
  }
  return outputs;
}

function searches(one: OpenedPass | Failure): boolean {
  return 'work' in one && one.work.encode.target !== undefined;
}

/** Gives a search its share of the time that is left, so that the later ones have theirs. */
function shareTime(work: PassWork, searchesLeft: number): void {
  const { deadlineMs } = work.task;
  const nowMs = Date.now();
  if (work.encode.target !== undefined)
    work.task = { ...work.task, deadlineMs: nowMs + (deadlineMs - nowMs) / searchesLeft };
}

/** Makes each page of a file readable once. */
function readOnce(): typeof readableFile {
  const files = new Map<number | undefined, ReturnType<typeof readableFile>>();
  return (input, options = {}) => {
    const known = files.get(options.page) ?? readableFile(input, options);
    files.set(options.page, known);
    return known;
  };
}

/**
 * Whether a pass can start at pixels that were decoded before: kept metadata, and the palette with which a GIF is
 * written again, are carried by the file's own pixels.
 */
function canShare({ chosen, encode, source }: PassWork): boolean {
  return chosen.count === 1 && encode.metadata !== 'keep' && source.format !== 'gif';
}

/** A picture that several passes continue from. */
interface SharedPicture {
  pixels: Pixels | DeepPixels;
  writtenIn: string | undefined;
  found: PassWork['context']['found'];
}

/** Formats whose decoders can shrink a picture while they read it. */
const SHRINKING: readonly string[] = ['jpeg', 'webp'];

/**
 * What several passes over one file have in common: the decoded picture, and the picture after the steps with which all
 * of them begin. Each is made by the first pass that needs it, and freed by the last.
 */
class Trunk {
  readonly #works: readonly PassWork[];
  /** The number of steps with which all passes begin. */
  readonly #steps: number;
  /** The size in which those that scale the picture first share it: that of the largest of them. */
  readonly #size: Size | undefined;
  readonly #sharedPictures = new Map<string, Promise<SharedPicture>>();
  /** How many passes have still to take each picture. */
  readonly #takers = new Map<string, number>();

  constructor(works: readonly PassWork[]) {
    this.#works = works;
    this.#steps = commonSteps(works);
    this.#size = largestSize(works);
    const ofSteps = Map.groupBy(works, (work) => this.#nameAfterSteps(work));
    for (const [name, group] of ofSteps) {
      const decodes = this.#steps > 0 && group.length > 1 ? group.slice(0, 1) : group;
      if (this.#steps > 0) this.#takers.set(name, group.length);
      for (const work of decodes) {
        const decoded = this.#nameOfDecoded(work);
        this.#takers.set(decoded, (this.#takers.get(decoded) ?? 0) + 1);
      }
    }
    for (const [name, count] of this.#takers) if (count < 2) this.#takers.delete(name);
  }

  /** Runs a pass from the last picture that it shares with another one. */
  async run(opened: OpenedPass): Promise<Output> {
    if (!this.#works.includes(opened.work)) return runPass(opened);
    return runPass(opened, [this.#join, flattenLate]);
  }

  readonly #join = async (work: PassWork): Promise<void> => {
    const common = work.steps.slice(0, this.#steps);
    const name = this.#nameAfterSteps(work);
    const start = async () => {
      await this.#decode(work);
      flattenEarly(work);
      await runSome(work, common);
    };
    if (common.length > 0 && this.#takers.has(name)) {
      const { pixels, areShared, writtenIn, found } = await this.#take(name, work, start);
      work.picture.continueFrom(pixels, areShared);
      work.picture.writtenIn = writtenIn;
      Object.assign(work.context.found, { ...found, warnings: [...found.warnings] });
    } else await start();
    await runSome(work, work.steps.slice(this.#steps));
  };

  /** Starts the picture at its decoded pixels, if another pass needs them as well. */
  async #decode(work: PassWork): Promise<void> {
    const name = this.#nameOfDecoded(work);
    const { picture } = work;
    const size = scaledSize(work) && this.#size;
    if (!this.#takers.has(name)) return convertColours(work);
    const { pixels, areShared } = await this.#take(name, work, async () => {
      convertColours(work);
      if (size !== undefined) (await picture.at('scale')).resize({ ...size, fit: 'fill' });
    });
    picture.startAt(pixels, areShared);
  }

  /** The picture of that name. Passes only read its pixels, because each step makes its own; the last one owns them. */
  async #take(
    name: string,
    work: PassWork,
    make: () => Promise<void>,
  ): Promise<SharedPicture & { areShared: boolean }> {
    const known = this.#sharedPictures.get(name) ?? snapshotAfter(work, make);
    const left = (this.#takers.get(name) ?? 1) - 1;
    this.#takers.set(name, left);
    if (left > 0) this.#sharedPictures.set(name, known);
    else this.#sharedPictures.delete(name);
    return { ...(await known), areShared: left > 0 };
  }

  /** Passes over the same frame read the same pixels, and those that scale it first may read fewer. */
  #nameOfDecoded(work: PassWork): string {
    const size = scaledSize(work) && this.#size;
    return `frame ${work.chosen.first}${size === undefined ? '' : ', scaled'}`;
  }

  /** Passes whose pictures are equal after the common steps have the same name. */
  #nameAfterSteps(work: PassWork): string {
    const { source, ground, context } = work;
    const common = work.steps.slice(0, this.#steps);
    const isPainted = source.hasAlpha || common.some(mayFill);
    const paint = isPainted ? [ground, context.fill, flattensEarly(work)] : [];
    return JSON.stringify([work.chosen.first, paint]);
  }
}

async function snapshotAfter(work: PassWork, make: () => Promise<void>): Promise<SharedPicture> {
  const { picture, context } = work;
  const { width, height } = picture;
  await make();
  const { writtenIn } = picture;
  const pixels = await picture.handOver();
  picture.becomes({ width, height });
  return { pixels, writtenIn, found: { ...context.found, warnings: [...context.found.warnings] } };
}

/** The number of steps with which all passes begin. */
function commonSteps([first, ...others]: readonly PassWork[]): number {
  if (first === undefined || others.length === 0) return 0;
  const differs = (work: PassWork, at: number) => textOf(work, at) !== textOf(first, at);
  const last = first.steps.findIndex((_, at) => others.some((work) => differs(work, at)));
  return last === -1 ? first.steps.length : last;
}

/** A step with its place in the pass, which a refusal names; undefined after the last one. */
function textOf({ task, steps }: PassWork, at: number): string | undefined {
  const index = steps[at]?.index;
  return index === undefined ? undefined : JSON.stringify([index, task.pass.steps[index]]);
}

/** Whether a step may paint an area with the colour that its pass has for new areas. */
function mayFill({ operation, params }: PlannedStep): boolean {
  return 'background' in operation.parameters.properties && params.background === undefined;
}

/** The size to which a pass scales its picture first, if the decoder can read fewer pixels then. */
function scaledSize({ source, picture, steps: [first] }: PassWork): Size | undefined {
  if (!SHRINKING.includes(source.format)) return undefined;
  const size = first?.operation.scalesTo(picture, first.params);
  return size === undefined || isLarger(size, picture) ? undefined : size;
}

/**
 * The largest of the sizes to which passes scale their picture first, from which the smaller ones are scaled again.
 * Undefined if it has not the shape of the picture, or if another one is larger on an axis.
 */
function largestSize(works: readonly PassWork[]): Size | undefined {
  const sizes = works.flatMap((work) => scaledSize(work) ?? []);
  const [largest] = sizes.toSorted((one, other) => other.width - one.width);
  const [work] = works;
  if (largest === undefined || work === undefined || sizes.some((size) => isLarger(size, largest)))
    return undefined;
  const { width, height } = work.picture;
  const distortion = largest.height - (height * largest.width) / width;
  return Math.abs(distortion) <= 1 ? largest : undefined;
}

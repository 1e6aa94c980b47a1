import {
  type BranchTask,
  type BranchTaskResult,
  type OutputFormat,
  sumTimings,
  type TaskFailure,
  type TransformTaskResult,
  totalMsOf,
} from '../protocol.ts';
import type { InputFacts } from './input.ts';
import { applySteps, isMeasuredFailure, openPass, runPass, startUpright } from './pipeline.ts';
import type { Pixels } from './pixels/pixels.ts';
import { makeFileReadable } from './readable.ts';
import { DeadlineError, taskFailureOf } from './refusal.ts';
import { runRivals, type TakeTurn } from './search/rivals.ts';
import { RESPONSE_RESERVE_MS, resultWithin, WorkClock } from './search/time.ts';
import { scalesOnLoad } from './sizing.ts';
import type { PassWork, PlannedStep } from './work.ts';

/**
 * Runs several passes over one file. Each has the same result as a pass that runs alone. The picture is decoded once
 * for all passes that read the same pixels, and common first steps are run once. A pass decodes the file by itself if
 * it needs other pixels: a smaller size from the decoder, or data that only the file's own pixels carry. A pass that
 * fails does not affect the others.
 * @param canBeKilled whether the sender can kill this process. A pass that is not done shortly before the deadline is
 *   then left behind, so that the results of the others are in time.
 */
export async function performBranchTask(task: BranchTask, canBeKilled = false): Promise<BranchTaskResult> {
  const startedMs = performance.now();
  const { outputs, leavesWork } = await runPassesWithRetry(task, canBeKilled);
  const timings = sumTimings(outputs.flatMap((output) => (output.kind === 'failure' ? [] : output.timings)));
  // Failed passes report no timings, so their time counts as processing.
  timings.processMs += Math.max(0, performance.now() - startedMs - totalMsOf(timings));
  return { kind: 'branched', outputs, timings, ...(leavesWork && { leavesWork }) };
}

type BranchOutput = TransformTaskResult | TaskFailure;
type BranchOutputs = Pick<BranchTaskResult, 'leavesWork'> & { outputs: BranchOutput[] };

async function runPassesWithRetry(task: BranchTask, canBeKilled: boolean): Promise<BranchOutputs> {
  const first = await runPasses(task, canBeKilled);
  const hasFailed = (output: BranchOutput) => output.kind === 'failure' && !isMeasuredFailure(output);
  const passes = task.passes.filter((_, index) => hasFailed(first.outputs[index] as BranchOutput));
  if (passes.length === 0 || first.leavesWork || task.header === undefined) return first;
  // The image header that came with the task may be wrong. As in `performTransformTask`, failed passes are therefore
  // repeated without it.
  const { header: _, ...unhinted } = task;
  const second = await runPasses({ ...unhinted, passes }, canBeKilled);
  const repeated = second.outputs.values();
  const outputs = first.outputs.map((output) =>
    hasFailed(output) ? (repeated.next().value ?? output) : output,
  );
  return { ...second, outputs };
}

async function runPasses({ passes, ...file }: BranchTask, canBeKilled: boolean): Promise<BranchOutputs> {
  const readFile = createCachingFileReader();
  const opened: (PassWork | TaskFailure)[] = [];
  for (const pass of passes)
    opened.push(await openPass({ ...file, kind: 'transform', pass }, canBeKilled, readFile));
  const sharedPictures = new SharedPictures(opened.filter((one) => 'picture' in one).filter(canSharePixels));
  const endMs = canBeKilled ? file.deadlineMs - RESPONSE_RESERVE_MS : Number.POSITIVE_INFINITY;
  let isOver = false as boolean;
  const run = async (one: PassWork | TaskFailure): Promise<BranchOutput> => {
    if (!('picture' in one)) return one;
    const output = isOver ? null : await resultWithin(endMs - Date.now(), sharedPictures.run(one));
    isOver ||= output === null;
    return output ?? taskFailureOf(new DeadlineError(), false);
  };
  const groups = rivalGroupsOf(opened);
  const outputs: BranchOutput[] = [];
  for (const [index, group] of groups.entries()) {
    const searchesLeft = groups.slice(index).filter((later) => later.some(isSearch)).length;
    for (const one of group) if ('picture' in one) shareTime(one, searchesLeft);
    outputs.push(
      ...(group.length === 1 ? [await run(group[0] as PassWork)] : await runRivalPasses(group, run)),
    );
  }
  const leavesWork = isOver || outputs.some((output) => output.leavesWork);
  return { outputs, ...(leavesWork && { leavesWork }) };
}

/**
 * The passes in groups. Passes that write one result in several formats, of which only the smallest file is kept, form
 * a group. Every other pass is a group of its own.
 */
function rivalGroupsOf(opened: readonly (PassWork | TaskFailure)[]): (PassWork | TaskFailure)[][] {
  const formatGroupOf = (one: PassWork | TaskFailure) =>
    'picture' in one ? one.task.pass.formatGroup : undefined;
  const groups: (PassWork | TaskFailure)[][] = [];
  for (const one of opened) {
    const last = groups.at(-1);
    const formatGroup = formatGroupOf(one);
    if (formatGroup !== undefined && last?.some((other) => formatGroupOf(other) === formatGroup))
      last.push(one);
    else groups.push([one]);
  }
  return groups;
}

async function runRivalPasses(
  rivals: readonly (PassWork | TaskFailure)[],
  run: (one: PassWork | TaskFailure) => Promise<BranchOutput>,
): Promise<BranchOutput[]> {
  const clock = new WorkClock();
  const starts = rivals.map((one) => (takeTurn: TakeTurn) => {
    if ('picture' in one) Object.assign(one, { takeTurn, clock });
    return run(one);
  });
  const deadlineMs = Math.max(...rivals.map((one) => ('picture' in one ? one.task.deadlineMs : 0)));
  const bytesOf = (output: BranchOutput) =>
    output.kind === 'failure' ? Number.POSITIVE_INFINITY : output.data.byteLength;
  const { results, wasHurried } = await runRivals(starts, { clock, deadlineMs, bytesOf });
  if (!wasHurried) return results;
  return results.map((output) => (output.kind === 'failure' ? output : withCutShortWarning(output)));
}

/** The result with the warning that its search had too little time. */
function withCutShortWarning(output: TransformTaskResult): TransformTaskResult {
  const others = output.warnings?.filter(({ code }) => code !== 'search_cut_short') ?? [];
  return { ...output, warnings: [...others, { code: 'search_cut_short' }] };
}

function isSearch(one: PassWork | TaskFailure): boolean {
  return 'picture' in one && one.encode.target !== undefined;
}

/**
 * Gives a search its share of the time that is left, so that later searches have time too. A search that has not
 * reached its target may also take half of the time of the later ones: one result in time is better than several that
 * are late.
 */
function shareTime(work: PassWork, searchesLeft: number): void {
  if (work.encode.target === undefined || searchesLeft === 1) return;
  const { deadlineMs } = work.task;
  const nowMs = Date.now();
  const shareEndMs = nowMs + (deadlineMs - nowMs) / searchesLeft;
  work.improvesUntilMs = shareEndMs;
  work.task = { ...work.task, deadlineMs: (shareEndMs + deadlineMs) / 2 };
}

/** Returns a `makeFileReadable` that keeps its results, so that a page is converted only once for equal options. */
function createCachingFileReader(): typeof makeFileReadable {
  const files = new Map<string, ReturnType<typeof makeFileReadable>>();
  return (input, options = {}) => {
    const key = `${options.page} ${options.keepsProfile}`;
    const readableFile = files.get(key) ?? makeFileReadable(input, options);
    files.set(key, readableFile);
    return readableFile;
  };
}

/**
 * Whether a pass can start at pixels that were decoded before. It cannot if only the file's own pixels carry what it
 * needs: the palette of a GIF, more than 8 bits, the density that sharp writes into a PNG or a TIFF, or kept metadata.
 * Kept metadata of opaque pixels is an exception, because a small file can carry it.
 */
function canSharePixels(work: PassWork): boolean {
  const { chosen, encode, source, carried, steps } = work;
  const reusesPalette = source.format === 'gif' && encode.format === 'gif';
  const isCarried = carried.carrier !== undefined && !mayBeTransparent(work, steps.length);
  const needsFile = encode.metadata === 'keep' || hasDensity(encode.format, source);
  return chosen.kept === undefined && !source.isDeep && !reusesPalette && (!needsFile || isCarried);
}

/** Whether sharp writes the density of the file into a result of this format. Pixels, as of a drawing, have none. */
function hasDensity(format: OutputFormat, source: InputFacts): boolean {
  return source.format !== 'raw' && (format === 'png' || format === 'tiff');
}

/** A picture from which several passes continue. */
interface SharedPicture {
  pixels: Pixels;
  writtenIn: string | undefined;
  sideResults: PassWork['context']['sideResults'];
}

/**
 * The shared pictures of passes over one file: the decoded one, and those after the steps with which several passes
 * begin. Each is made by the first pass that needs it, and freed by the last.
 */
class SharedPictures {
  /** For each pass, the numbers of steps after which it takes a shared picture, ascending. */
  readonly #sharedStepCounts: ReadonlyMap<PassWork, readonly number[]>;
  readonly #sharedPictures = new Map<string, Promise<SharedPicture>>();
  /** The number of times that each picture will still be used, by a pass or to make the next shared picture. */
  readonly #remainingTakers = new Map<string, number>();

  constructor(works: readonly PassWork[]) {
    const passCounts = new Map<string | undefined, number>();
    for (const name of works.flatMap(pictureNamesOf)) passCounts.set(name, (passCounts.get(name) ?? 0) + 1);
    this.#sharedStepCounts = new Map(
      works.map((work) => [work, sharedStepCountsOf(pictureNamesOf(work), passCounts)]),
    );
    const made = new Set<string>();
    for (const [work, sharedCounts] of this.#sharedStepCounts) {
      for (const count of sharedCounts.toReversed()) {
        const name = String(pictureNameAfter(work, count));
        this.#remainingTakers.set(name, (this.#remainingTakers.get(name) ?? 0) + 1);
        if (made.has(name)) break;
        made.add(name);
      }
    }
  }

  /** Runs a pass from the last picture that it shares with another one. */
  run(work: PassWork): Promise<BranchOutput> {
    return this.#sharedStepCounts.has(work) ? runPass(work, this.#continueFromShared) : runPass(work);
  }

  readonly #continueFromShared = async (work: PassWork): Promise<void> => {
    const sharedCounts = this.#sharedStepCounts.get(work) ?? [];
    await this.#runStepsUpTo(work, sharedCounts);
    await applySteps(work, work.steps.slice(sharedCounts.at(-1) ?? 0));
  };

  /** Brings the picture of a pass to the last state that it shares with another pass. */
  async #runStepsUpTo(work: PassWork, sharedCounts: readonly number[]): Promise<void> {
    const count = sharedCounts.at(-1) ?? 0;
    if (count === 0) return this.#openPicture(work, sharedCounts.length > 0);
    const before = sharedCounts.slice(0, -1);
    const { pixels, areShared, writtenIn, sideResults } = await this.#takePicture(work, count, async () => {
      await this.#runStepsUpTo(work, before);
      await applySteps(work, work.steps.slice(before.at(-1) ?? 0, count));
    });
    work.picture.continueFrom(pixels, areShared);
    work.picture.writtenIn = writtenIn;
    Object.assign(work.context.sideResults, { ...sideResults, warnings: [...sideResults.warnings] });
  }

  /** Prepares the upright picture at which the first step starts. */
  async #openPicture(work: PassWork, isShared: boolean): Promise<void> {
    if (isShared) {
      const { pixels, areShared } = await this.#takePicture(work, 0, async () => undefined);
      work.picture.startAt(pixels, areShared);
    }
    await startUpright(work);
  }

  /**
   * The picture after `count` steps. Passes only read its pixels, because each step makes new ones. The last pass that
   * takes the picture owns the pixels.
   */
  async #takePicture(
    work: PassWork,
    count: number,
    make: () => Promise<void>,
  ): Promise<SharedPicture & { areShared: boolean }> {
    const name = String(pictureNameAfter(work, count));
    const shared = this.#sharedPictures.get(name) ?? snapshotAfter(work, make);
    const remaining = (this.#remainingTakers.get(name) ?? 1) - 1;
    this.#remainingTakers.set(name, remaining);
    if (remaining > 0) this.#sharedPictures.set(name, shared);
    else this.#sharedPictures.delete(name);
    return { ...(await shared), areShared: remaining > 0 };
  }
}

/**
 * The numbers of steps after which a pass shares its picture with passes that continue differently: more passes have
 * this picture than have the next one.
 * @param names the names of the pictures of the pass.
 * @param sharing the number of passes that have the picture of each name.
 */
function sharedStepCountsOf(
  names: readonly (string | undefined)[],
  sharing: ReadonlyMap<string | undefined, number>,
): number[] {
  const passesAt = (count: number) => (names[count] === undefined ? 0 : (sharing.get(names[count]) ?? 0));
  return [...names.keys()].filter((count) => passesAt(count) > Math.max(1, passesAt(count + 1)));
}

/** The names of the pictures of a pass: the decoded one, and one after each step. */
function pictureNamesOf(work: PassWork): (string | undefined)[] {
  return [...Array(work.steps.length + 1).keys()].map((count) => pictureNameAfter(work, count));
}

/**
 * The name of the picture after `count` steps. Equal names mean equal pictures. Undefined if the picture cannot be
 * shared.
 */
function pictureNameAfter(work: PassWork, count: number): string | undefined {
  const { chosen, ground, context, source, profile } = work;
  const steps = work.steps.slice(0, count);
  const keepsNumbers = source.hasProfile && profile === 'own';
  if (count <= indexOfScaleOnLoad(work) || (count > 0 && mayBeTransparent(work, count))) return undefined;
  const paint = steps.some(mayFillWithBackground) ? [ground, context.fill] : [];
  const texts = steps.map((step) => stepKeyOf(work, step));
  return JSON.stringify([chosen.first, chosen.count, keepsNumbers, paint, texts]);
}

async function snapshotAfter(work: PassWork, make: () => Promise<void>): Promise<SharedPicture> {
  const { picture, context } = work;
  const { width, height } = picture;
  await make();
  const { writtenIn } = picture;
  const pixels = await picture.pixels();
  picture.setSize({ width, height });
  return {
    pixels,
    writtenIn,
    sideResults: { ...context.sideResults, warnings: [...context.sideResults.warnings] },
  };
}

/** The index of the step for which the decoder scales the picture, which no other pass reads before it; else -1. */
function indexOfScaleOnLoad({ source, steps }: PassWork): number {
  const index = steps.findIndex(({ operation }) => !operation.allowsScaleOnLoad);
  const scaled = steps[index]?.operation.scalesTo(source, steps[index].params);
  return scaled !== undefined && scalesOnLoad(source, scaled) ? index : -1;
}

/**
 * Whether the picture may be transparent after the first `count` steps. Such a picture is not shared: sharp passes
 * premultiplied colours from one step to the next, and pixels that are read in between would lose them.
 */
function mayBeTransparent({ source, steps }: PassWork, count: number): boolean {
  return steps
    .slice(0, count)
    .reduce(
      (was, { operation, params }) =>
        operation.transparentAfter(params) ?? (was || !operation.keepsAlpha(params)),
      source.hasAlpha,
    );
}

/** A step as text, including its index in the pass, because errors name the index. */
function stepKeyOf({ task }: PassWork, { index }: PlannedStep): string {
  return JSON.stringify([index, task.pass.steps[index]]);
}

/** Whether a step may fill an area with the background colour of its pass. */
function mayFillWithBackground({ operation, params }: PlannedStep): boolean {
  return 'background' in operation.parameters.properties && params.background === undefined;
}

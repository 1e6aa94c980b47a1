import { firstFrameWarning } from '../../../workers/image/frames.ts';
import type { ImagePass, ImageTask, ImageTaskResult, RasterInput } from '../../../workers/protocol.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { ApiError } from '../../platform/http/errors/errors.ts';
import type { PoolMeter } from '../../platform/metrics/work.ts';
import { withoutAbsentFields } from '../../platform/values/present.ts';
import { alternativesToSlowPasses } from './alternatives.ts';
import { CallDeadline } from './deadline.ts';
import { estimatedScoringMs } from './estimates/costs.ts';
import { checkSameSize, checkScorableSize, predictSuccess } from './estimates/prediction.ts';
import {
  apiErrorOfFailedCall,
  deadlineExceededError,
  isLateError,
  type LateProgress,
  resultOrApiError,
} from './failures.ts';
import { FormatRuns } from './formats.ts';
import { decodeHintsOf, inputHeaderHintOf } from './header/facts.ts';
import { readImageHeader } from './header/header.ts';
import {
  type BranchCall,
  type BranchResult,
  type CompareCall,
  type CompareResult,
  type DescribeCall,
  type DescribeResult,
  type ImageCall,
  isStoredFile,
  type RunningCall,
  requireOnlyOutput,
  type StartedCall,
  type TransformCall,
  type TransformResult,
  type WithQueueTime,
} from './image-call.ts';
import { LateWork } from './pools/late-work.ts';
import { type ImagePoolName, ImagePools, type ImagePoolsOptions } from './pools/pools.ts';
import { AccountWorkerTime } from './pools/work-history.ts';
import type { AdmissionStats, IncomingCall } from './slots.ts';
import {
  CallPictures,
  drawingFacts,
  headerOfFacts,
  type ImageSourceFile,
  type OpenedSource,
} from './source.ts';
import {
  drawingSizeForPass,
  MEASURING_DRAWING_SIZE,
  NATURAL_DRAWING_SIZE,
  Rasterizer,
  runPassesOverDrawing,
  withCompleteTimings,
} from './vector.ts';

export interface ImageWorkersOptions
  extends Pick<
    ImagePoolsOptions,
    'settings' | 'capacity' | 'log' | 'threadFile' | 'processFile' | 'workersCpuMs' | 'processCpuMs'
  > {
  clock?: Clock;
  /** Remembers the work that has exceeded its deadline. If absent, only the work of this process is remembered. */
  lateWork?: LateWork;
  /** Measures the work, its wait and its duration. */
  meter?: Pick<PoolMeter, 'recordPoolWork' | 'recordPoolWorkEnd'>;
}

interface BegunCall {
  call: ImageCall;
  deadline: CallDeadline;
  pictures: CallPictures;
}

/** The pictures of a task, and the work on them. */
interface PicturesAndPasses {
  source: ImageSourceFile;
  /** The second pictures, keyed by the id that the steps use for them. */
  layers?: Readonly<Record<string, ImageSourceFile>>;
  /** The passes; none for a description and a comparison. */
  passes: readonly ImagePass[];
  /** Estimated CPU milliseconds of measurements, which are added to those of the passes. */
  measuringMs?: number;
}

/** How long a response counts as proof that the threads work. */
const SELF_TEST_TTL_MS = 5_000;

/** The kind of answer to each kind of task. */
const ANSWER_KINDS = {
  transform: 'transformed',
  branch: 'branched',
  describe: 'described',
  compare: 'compared',
} as const;
type TaskKind = ImageTask['kind'];
type AnswerTo<K extends TaskKind> = Extract<ImageTaskResult, { kind: (typeof ANSWER_KINDS)[K] }>;

/** Runs image work in the image threads and processes. Nothing else has access to them. */
export class ImageWorkers {
  readonly #clock: Clock;
  readonly #meter: ImageWorkersOptions['meter'];
  /** The time that workers spent on the calls of each account. Other kinds of workers add their time too. */
  readonly workerTime: AccountWorkerTime;
  readonly #lateWork: LateWork;
  readonly #pools: ImagePools;
  readonly #rasterizer: Rasterizer;
  #lastAnswerMs = Number.NEGATIVE_INFINITY;
  /** The self-test in progress, which concurrent callers share. */
  #runningSelfTest: Promise<unknown> | undefined;

  constructor(options: ImageWorkersOptions) {
    const { settings, capacity, log, clock = systemClock, lateWork = new LateWork(clock) } = options;
    const budgetMs = () => settings.IMAGE_ACCOUNT_SECONDS * 1_000 * capacity.imageThreads();
    const onLost = (error: Error) => log.warn({ err: error }, 'An image worker was lost');
    this.#clock = clock;
    this.#meter = options.meter;
    this.#lateWork = lateWork;
    this.workerTime = new AccountWorkerTime({ clock, budgetMs });
    const shared = { clock, lateWork, workerTime: this.workerTime, onLost };
    this.#pools = new ImagePools({ ...options, ...shared });
    this.#rasterizer = new Rasterizer({
      ...shared,
      ...withoutAbsentFields({ processCpuMs: options.processCpuMs }),
      timeoutMs: settings.VECTOR_TIMEOUT_MS,
      memoryMegabytes: settings.VECTOR_MEMORY_MEGABYTES,
      limits: () => ({ calls: capacity.imageQueue() }),
    });
  }

  /** Runs one pass over one file. */
  transform(call: TransformCall): RunningCall<TransformResult> {
    const { pass, paramOf = (passParam) => passParam, asJobs } = call;
    if (pass.encode.formats === undefined) return this.#beginMeasured('transform', call, this.#transform);
    const running = this.branch({ ...call, branches: [{ pass, paramOf, asJobs }] });
    return { ...running, result: running.result.then(requireOnlyOutput) };
  }

  /**
   * Runs several passes over one file. Each has the same result as if it ran alone. A pass runs once for each format
   * that its result may have.
   */
  branch(call: BranchCall): RunningCall<BranchResult> {
    const { bytes } = call;
    const sent = isStoredFile(bytes) ? null : (call.header ?? readImageHeader(bytes));
    const header = isStoredFile(bytes) ? headerOfFacts(bytes.facts) : sent;
    const formats = new FormatRuns(call.branches, header);
    const each = { ...call, header: sent, branches: formats.passRuns };
    const running =
      header?.format === 'svg'
        ? runPassesOverDrawing(each, (pass) => this.transform(pass))
        : this.#beginMeasured('branch', each, this.#branch);
    const result = running.result.then((made) => ({
      ...made,
      outputs: formats.smallestOutputs(made.outputs),
    }));
    return { ...running, result };
  }

  /** Reads the facts and the metadata of an image, and measures a palette if the call requests it. */
  describe(call: DescribeCall): RunningCall<DescribeResult> {
    return this.#beginMeasured('describe', call, this.#describe);
  }

  /** Compares an image with another one of its size. */
  compare(call: CompareCall): RunningCall<CompareResult> {
    return this.#beginMeasured('compare', call, this.#compare);
  }

  /**
   * Admits a call before its body is received.
   * @param bytes size of the body, if known.
   * @throws provider_unavailable (capacity) when the queue is full or overloaded.
   */
  admitIncoming(accountId: string, bytes: number): IncomingCall {
    return this.#pools.admitIncoming(accountId, bytes);
  }

  /** The load of each pool now: its slots, its waiting work and its memory. */
  stats(): Record<ImagePoolName, AdmissionStats> {
    return this.#pools.stats();
  }

  /**
   * Runs a tiny transform. A call that was answered in the last seconds counts instead, so that a busy process does not
   * wait in its own queue. Rejects when the transform fails.
   */
  async selfTest(): Promise<void> {
    if (this.#clock.elapsedMs() - this.#lastAnswerMs < SELF_TEST_TTL_MS) return;
    this.#runningSelfTest ??= this.#begin(
      createTinyCall(this.#clock.nowMs()),
      this.#transform,
    ).result.finally(() => {
      this.#runningSelfTest = undefined;
    });
    await this.#runningSelfTest;
  }

  /** Waits for the calls in progress, then stops the threads and the rasterizer. */
  async close(): Promise<void> {
    this.#lateWork.close();
    await Promise.all([this.#pools.close(), this.#rasterizer.close()]);
  }

  /** Begins work of an account, and measures it. */
  #beginMeasured<C extends ImageCall, T extends WithQueueTime>(
    kind: TaskKind,
    call: C,
    start: (call: C, begun: BegunCall) => Promise<StartedCall<T>>,
  ): RunningCall<T> {
    this.workerTime.recordArrival(call.accountId);
    const running = this.#begin(call, start);
    const labels = { pool: 'image', work: call.work ?? 'call', kind };
    running.result.then(
      ({ queueMs }) => this.#meter?.recordPoolWork(labels, queueMs / 1000, 'done'),
      () => this.#meter?.recordPoolWork(labels, 0, 'failed'),
    );
    return running;
  }

  /**
   * Runs a call under its deadline, and records when the last native work for it has ended.
   * @param start resolves when the work has its slot.
   */
  #begin<C extends ImageCall, T>(
    call: C,
    start: (call: C, begun: BegunCall) => Promise<StartedCall<T>>,
  ): RunningCall<T> {
    const { deadlineMs, work, signal: client, waitSignal } = call;
    const deadline = new CallDeadline({
      ...{ deadlineMs, work, client, waitSignal, clock: this.#clock },
      createWaitError: () => deadlineExceededError(this.#pools.retryAfterSeconds()),
    });
    const pictures = new CallPictures(call, deadline, this.#rasterizer);
    const started = start(call, { call, deadline, pictures });
    const result = started.then((run) => deadline.guard(run.result)).finally(() => deadline.end());
    const ended = Promise.allSettled([result, started.then((run) => run.ended)]);
    return { result, ended, waitedMs: () => deadline.waitedMs() };
  }

  readonly #transform = async (
    call: TransformCall,
    begun: BegunCall,
  ): Promise<StartedCall<TransformResult>> => {
    const { pass, describes = false } = call;
    const source = await begun.pictures.read(call, drawingSizeForPass(pass), [pass]);
    predictSuccess({ header: source.header, fileBytes: call.bytes.length }, pass, call.paramOf);
    const work = { source, passes: [pass], layers: await begun.pictures.readLayers(call.layers) };
    return this.#start('transform', begun, work, async (opened, deadlineMs) => ({
      kind: 'transform',
      ...(await this.#taskFieldsFor(opened, work)),
      ...(describes && { describes }),
      pass,
      deadlineMs,
    }));
  };

  readonly #branch = async (call: BranchCall, begun: BegunCall): Promise<StartedCall<BranchResult>> => {
    const { deadline } = begun;
    const passes = call.branches.map(({ pass }) => pass);
    const source = await begun.pictures.read(call, NATURAL_DRAWING_SIZE, passes);
    const { header } = source;
    const predictions = call.branches.map(({ pass, paramOf }) =>
      resultOrApiError(() => predictSuccess({ header, fileBytes: call.bytes.length }, pass, paramOf)),
    );
    const fitting = passes.filter((_, index) => !(predictions[index] instanceof ApiError));
    const [first] = predictions;
    if (first instanceof ApiError && fitting.length === 0) throw first;
    const work = { source, passes: fitting, layers: await begun.pictures.readLayers(call.layers) };
    const { result, ended } = await this.#start('branch', begun, work, async (opened, deadlineMs) => ({
      kind: 'branch',
      ...(await this.#taskFieldsFor(opened, work)),
      passes: fitting,
      deadlineMs,
    }));
    const outputs = result.then(({ outputs: ran, timings, queueMs }) => {
      const left = ran.values();
      const outputs = call.branches.map(({ pass, ...forms }, index) => {
        const prediction = predictions[index];
        const output = prediction instanceof ApiError ? prediction : left.next().value;
        if (output === undefined) throw new Error('An image worker answered with too few results.');
        if (output instanceof ApiError || output.kind === 'transformed') return output;
        return apiErrorOfFailedCall(output, {
          ...{ deadline, paramOf: forms.paramOf },
          alternatives: (progress) => alternativesToSlowPasses(header, [pass], { ...forms, ...progress }),
        });
      });
      if (outputs.length > 1 && outputs.every(isLateError)) throw deadline.deadlineError();
      return { outputs, timings, queueMs };
    });
    return { result: outputs, ended };
  };

  readonly #describe = async (call: DescribeCall, begun: BegunCall): Promise<StartedCall<DescribeResult>> => {
    const source = await begun.pictures.read(call, MEASURING_DRAWING_SIZE, []);
    const { result, ended } = await this.#start(
      'describe',
      begun,
      { source, passes: [] },
      ({ file, header }, deadlineMs) => ({
        kind: 'describe',
        ...file,
        ...decodeHintsOf(header),
        ...withoutAbsentFields({ palette: call.palette }),
        deadlineMs,
      }),
    );
    const ofDrawing = source.drawing && drawingFacts(source.drawing);
    const facts = result.then((described) => ({ ...described, image: { ...described.image, ...ofDrawing } }));
    return { result: facts, ended };
  };

  readonly #compare = async (call: CompareCall, begun: BegunCall): Promise<StartedCall<CompareResult>> => {
    const { isScored, paramOf } = call;
    const one = await begun.pictures.read(call, NATURAL_DRAWING_SIZE, []);
    const second = { bytes: call.other, param: paramOf?.('otherAssetId') };
    const other = await begun.pictures.read(second, NATURAL_DRAWING_SIZE, []);
    checkSameSize(one.header, other.header, paramOf);
    if (isScored) checkScorableSize(one.header);
    // Both pictures are in memory at the same time.
    const header = { ...one.header, pixels: one.header.pixels + 2 * other.header.pixels };
    const measuringMs = isScored ? estimatedScoringMs(one.header) : 0;
    const work = { source: { ...one, header }, passes: [], measuringMs };
    const { result, ended } = await this.#start('compare', begun, work, async ({ file }, deadlineMs) => {
      const { input, raw } = (await other.open()).file;
      const rest = withoutAbsentFields({ otherRaw: raw, isScored });
      return { kind: 'compare', deadlineMs, ...file, other: input, ...rest };
    });
    const comparesFirstFrames = [one, other].some(({ header }) => firstFrameWarning(header) !== undefined);
    return { result: result.then((compared) => ({ ...compared, comparesFirstFrames })), ended };
  };

  /**
   * The fields of a task of passes: its file, hints about it, the second pictures, and the number of libvips threads.
   */
  async #taskFieldsFor({ file, header }: OpenedSource, { passes, layers = {} }: PicturesAndPasses) {
    const rasters: Record<string, RasterInput> = {};
    for (const [id, layer] of Object.entries(layers)) rasters[id] = (await layer.open()).file;
    return {
      ...file,
      ...inputHeaderHintOf(header),
      ...decodeHintsOf(header),
      layers: rasters,
      threads: this.#pools.threadsFor(header, passes),
    };
  }

  /**
   * Starts a task of a call, and resolves when the task has its slot. The result rejects with the call's error if the
   * worker reports a failure.
   */
  async #start<K extends TaskKind>(
    kind: K,
    { call, deadline, pictures }: BegunCall,
    { source, ...work }: PicturesAndPasses,
    makeTask: (opened: OpenedSource, deadlineMs: number) => ImageTask | Promise<ImageTask>,
  ): Promise<StartedCall<AnswerTo<K> & WithQueueTime>> {
    const { accountId, work: workClass, incoming, inBatch = false, paramOf, asJobs } = call;
    const { header, prepare } = source;
    const { heldBytes } = pictures;
    const alternatives = (progress?: LateProgress) =>
      alternativesToSlowPasses(header, work.passes, { paramOf, asJobs, ...progress });
    let sentMs = this.#clock.elapsedMs();
    const run = await this.#pools.start(
      {
        ...{ ...work, kind, header, prepare, heldBytes, deadline, alternatives },
        ...{ accountId, work: workClass, incoming, inBatch },
      },
      async (deadlineMs) => {
        const task = await makeTask(await source.open(), deadlineMs);
        sentMs = this.#clock.elapsedMs();
        return task;
      },
    );
    const result = run.result.then((result) => {
      this.#lastAnswerMs = this.#clock.elapsedMs();
      const elapsedMs = this.#lastAnswerMs - sentMs;
      if (result.kind === 'failure') throw apiErrorOfFailedCall(result, { deadline, paramOf, alternatives });
      if (result.kind !== ANSWER_KINDS[kind])
        throw new Error('An image worker answered with something else.');
      const times = { queueMs: run.queueMs, elapsedMs };
      return withCompleteTimings(result as AnswerTo<K>, times, pictures.drawing);
    });
    return { result, ended: run.ended };
  }
}

const TINY_GIF = 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7';
const TINY_CALL_TIMEOUT_MS = 10_000;

/** A transform with very little work, for the self-test of the threads. */
function createTinyCall(nowMs: number): TransformCall {
  return {
    bytes: Uint8Array.from(Buffer.from(TINY_GIF, 'base64')),
    accountId: 'self-test',
    deadlineMs: nowMs + TINY_CALL_TIMEOUT_MS,
    pass: { decode: {}, steps: [], encode: { format: 'png' } },
  };
}

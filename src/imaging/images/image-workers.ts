import type { ImagePass, ImageTask, ImageTaskResult } from '../../../workers/protocol.ts';
import type { RequestedDrawingSize } from '../../../workers/vector/protocol.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { ApiError } from '../../platform/http/errors/errors.ts';
import type { PoolMeter } from '../../platform/metrics/work.ts';
import { withoutAbsentFields } from '../../platform/values/present.ts';
import { alternativesToSlowPasses } from './alternatives.ts';
import { CallDeadline } from './deadline.ts';
import { runPassesOverDrawing } from './drawn-branches.ts';
import { estimatedScoringMs } from './estimates/costs.ts';
import { assertSameSize, assertScorable, predictSuccess } from './estimates/following.ts';
import { apiErrorOfFailure, deadlineExceededError, errorThrownBy, isLate, lateWith } from './failures.ts';
import { FormatRuns } from './formats.ts';
import { headerReadingsOf, inputHeaderHintOf } from './header/facts.ts';
import { readImageHeader } from './header/header.ts';
import {
  type BranchCall,
  type BranchResult,
  type CompareCall,
  type CompareResult,
  type DescribeCall,
  type DescribeResult,
  type ImageCall,
  type LayerFile,
  type LayerFiles,
  type RunningCall,
  type TransformCall,
  type TransformResult,
  takeOnlyOutput,
  type WithQueueTime,
} from './image-call.ts';
import { OpenedLayers } from './layers.ts';
import { type ImagePoolName, ImagePools, type ImagePoolsOptions } from './pools/pools.ts';
import { AccountWorkerTime, LateWork } from './pools/work-history.ts';
import { SelfTest } from './self-test.ts';
import type { AdmissionStats, IncomingCall } from './slots.ts';
import {
  drawingFacts,
  headerOfFacts,
  type ImageSourceFile,
  isStoredFile,
  type OpenedSource,
  openSourceFile,
  storedSource,
} from './source.ts';
import { drawingSizeForPass, MEASURED_SIZE, NATURAL_SIZE, Rasterizer, withAllTimes } from './vector.ts';

export interface ImageWorkersOptions
  extends Pick<
    ImagePoolsOptions,
    'settings' | 'log' | 'threadFile' | 'processFile' | 'workersCpuMs' | 'processCpuMs'
  > {
  /** The changeable capacity. When it changes, the pools are resized, and no call fails. */
  capacity: ImagePoolsOptions['capacity'];
  clock?: Clock;
  /** Measures the work, its wait and its duration. */
  meter?: Pick<PoolMeter, 'worked' | 'ended'>;
}

/** Work that has its slot. Its result is an answer or an error. */
interface Started<T> {
  result: Promise<T>;
  ended: Promise<unknown>;
}

/** The file of a call, and the work on it. */
interface FileWork {
  source: ImageSourceFile;
  /** The second pictures of its passes. */
  layers?: OpenedLayers;
  /** None for a description and a comparison. */
  passes: readonly ImagePass[];
  deadline: CallDeadline;
  /** CPU time that is not told by the passes. */
  measuringMs?: number;
}

/** The kind of answer to each kind of task. */
const ANSWERS = {
  transform: 'transformed',
  branch: 'branched',
  describe: 'described',
  compare: 'compared',
} as const;
type TaskKind = ImageTask['kind'];
type AnswerTo<K extends TaskKind> = Extract<ImageTaskResult, { kind: (typeof ANSWERS)[K] }>;

/** The only access to the image threads. */
export class ImageWorkers {
  readonly #clock: Clock;
  readonly #meter: ImageWorkersOptions['meter'];
  /** The time that workers spent on the calls of each account. Other kinds of workers add their time too. */
  readonly workerTime: AccountWorkerTime;
  readonly #pools: ImagePools;
  readonly #rasterizer: Rasterizer;
  readonly #selfTest: SelfTest;

  constructor(options: ImageWorkersOptions) {
    const { settings, capacity, log, clock = systemClock } = options;
    const budgetMs = () => settings.IMAGE_ACCOUNT_SECONDS * 1_000 * capacity.imageThreads();
    const lateWork = new LateWork(clock);
    const onLost = (error: Error) => log.warn({ err: error }, 'An image worker was lost');
    this.#clock = clock;
    this.#meter = options.meter;
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
    this.#selfTest = new SelfTest(clock, (call) => this.#begin(call, this.#transform).result);
  }

  /** Runs one pass over one file. */
  transform(call: TransformCall): RunningCall<TransformResult> {
    const { pass, paramOf = (passParam) => passParam } = call;
    if (pass.encode.formats === undefined) return this.#beginMeasured('transform', call, this.#transform);
    const { result, ended } = this.branch({ ...call, branches: [{ pass, paramOf }] });
    return { result: result.then(takeOnlyOutput), ended };
  }

  /**
   * Runs several passes over one file. Each has the same result as if it ran alone. A pass runs once for each format
   * that its result may have.
   */
  branch(call: BranchCall): RunningCall<BranchResult> {
    const { bytes } = call;
    const { header = isStoredFile(bytes) ? null : readImageHeader(bytes) } = call;
    const formats = new FormatRuns(call.branches, isStoredFile(bytes) ? headerOfFacts(bytes.facts) : header);
    const each = { ...call, header, branches: formats.runs };
    const format = isStoredFile(bytes) ? bytes.facts.format : header?.format;
    const { result, ended } =
      format === 'svg'
        ? runPassesOverDrawing(each, (pass) => this.transform(pass))
        : this.#beginMeasured('branch', each, this.#branch);
    return {
      result: result.then((made) => ({ ...made, outputs: formats.smallest(made.outputs) })),
      ended,
    };
  }

  /** Reads the facts and the metadata of an image, and measures a palette if the call asks for it. */
  describe(call: DescribeCall): RunningCall<DescribeResult> {
    return this.#beginMeasured('describe', call, this.#describe);
  }

  /** Compares an image with another one of its size. */
  compare(call: CompareCall): RunningCall<CompareResult> {
    return this.#beginMeasured('compare', call, this.#compare);
  }

  /**
   * Lets in a call whose body is still to be received.
   * @param bytes size of the body, if known.
   * @throws provider_unavailable (capacity) when the queue is full or overloaded.
   */
  expect(accountId: string, bytes: number): IncomingCall {
    return this.#pools.expect(accountId, bytes);
  }

  /** The pools as they are now. */
  stats(): Record<ImagePoolName, AdmissionStats> {
    return this.#pools.stats();
  }

  /**
   * Runs a tiny transform. A call that was answered in the last seconds counts instead, so that a busy process does not
   * wait in its own queue. Rejects when the transform fails.
   */
  selfTest(): Promise<void> {
    return this.#selfTest.run();
  }

  /** Waits for the calls in progress, then stops the threads and the rasterizer. */
  async close(): Promise<void> {
    await Promise.all([this.#pools.close(), this.#rasterizer.close()]);
  }

  /** Begins work of an account, and measures it. */
  #beginMeasured<C extends ImageCall, T extends WithQueueTime>(
    kind: TaskKind,
    call: C,
    start: (call: C, deadline: CallDeadline) => Promise<Started<T>>,
  ): RunningCall<T> {
    this.workerTime.arrived(call.accountId);
    const work = this.#begin(call, start);
    const labels = { pool: 'image', work: call.work ?? 'call', kind };
    work.result.then(
      ({ queueMs }) => this.#meter?.worked(labels, queueMs / 1000, 'done'),
      () => this.#meter?.worked(labels, 0, 'failed'),
    );
    return work;
  }

  /** Runs a call under its deadline, and records when the last native work for it has ended. */
  #begin<C extends ImageCall, T>(
    call: C,
    start: (call: C, deadline: CallDeadline) => Promise<Started<T>>,
  ): RunningCall<T> {
    const { deadlineMs, work, signal: client, waitSignal } = call;
    const late = () => deadlineExceededError(this.#pools.retryAfterSeconds());
    const deadline = new CallDeadline({ deadlineMs, work, client, waitSignal, clock: this.#clock, late });
    const started = start(call, deadline);
    const result = started.then((run) => deadline.guard(run.result)).finally(() => deadline.end());
    const native = started.then((run) => run.ended);
    const ended = Promise.allSettled([result, native]).then(ignore);
    return { result, ended };
  }

  readonly #transform = async (
    call: TransformCall,
    deadline: CallDeadline,
  ): Promise<Started<TransformResult>> => {
    const { pass, describes = false } = call;
    const source = await this.#read(call, call, drawingSizeForPass(pass), [pass], deadline);
    predictSuccess({ header: source.header, fileBytes: call.bytes.length }, pass, call.paramOf);
    const layers = await this.#openLayers(call, deadline);
    const makeTask = async (opened: OpenedSource, deadlineMs: number): Promise<ImageTask> => ({
      kind: 'transform',
      ...(await this.#taskFor(opened, [pass], layers)),
      ...(describes && { describes }),
      pass,
      deadlineMs,
    });
    const reading = { source, passes: [pass], deadline, ...withoutAbsentFields({ layers }) };
    return this.#start('transform', call, reading, makeTask);
  };

  readonly #branch = async (call: BranchCall, deadline: CallDeadline): Promise<Started<BranchResult>> => {
    const passes = call.branches.map(({ pass }) => pass);
    const source = await this.#read(call, call, NATURAL_SIZE, passes, deadline);
    const { header } = source;
    const misfits = call.branches.map(({ pass, paramOf }) =>
      errorThrownBy(() => predictSuccess({ header, fileBytes: call.bytes.length }, pass, paramOf)),
    );
    const fitting = passes.filter((_, index) => misfits[index] === undefined);
    const [first] = misfits;
    if (first !== undefined && fitting.length === 0) throw first;
    const layers = await this.#openLayers(call, deadline);
    const makeTask = async (opened: OpenedSource, deadlineMs: number): Promise<ImageTask> => ({
      kind: 'branch',
      ...(await this.#taskFor(opened, fitting, layers)),
      passes: fitting,
      deadlineMs,
    });
    const reading = { source, passes: fitting, deadline, ...withoutAbsentFields({ layers }) };
    const { result, ended } = await this.#start('branch', call, reading, makeTask);
    const outputs = result.then(({ outputs: ran, timings, queueMs }) => {
      const left = ran.values();
      const outputs = call.branches.map(({ paramOf }, index) => {
        const output = misfits[index] ?? left.next().value;
        if (output === undefined) throw new Error('An image worker answered with too few results.');
        if (output instanceof ApiError || output.kind === 'transformed') return output;
        return isLate(output) ? lateWith(deadline.refusal(), output) : apiErrorOfFailure(output, paramOf);
      });
      return { outputs, timings, queueMs };
    });
    return { result: outputs, ended };
  };

  readonly #describe = async (call: DescribeCall, deadline: CallDeadline) => {
    const source = await this.#read(call, call, MEASURED_SIZE, [], deadline);
    const makeTask = ({ file, header }: OpenedSource, deadlineMs: number): ImageTask => ({
      kind: 'describe',
      ...file,
      ...headerReadingsOf(header),
      ...withoutAbsentFields({ palette: call.palette }),
      deadlineMs,
    });
    const { result, ended } = await this.#start('describe', call, { source, passes: [], deadline }, makeTask);
    const ofDrawing = source.drawing && drawingFacts(source.drawing);
    const facts = result.then((described) => ({
      ...described,
      image: { ...described.image, ...ofDrawing },
    }));
    return { result: facts, ended };
  };

  readonly #compare = async (call: CompareCall, deadline: CallDeadline): Promise<Started<CompareResult>> => {
    const one = await this.#read(call, call, NATURAL_SIZE, [], deadline);
    const second = { bytes: call.other, ...withoutAbsentFields({ param: call.paramOf?.('otherAssetId') }) };
    const other = await this.#read(call, second, NATURAL_SIZE, [], deadline);
    assertSameSize(one.header, other.header, call.paramOf);
    if (call.isScored) assertScorable(one.header);
    const makeTask = async ({ file }: OpenedSource, deadlineMs: number): Promise<ImageTask> => {
      const { input, raw } = (await other.open()).file;
      const { isScored } = call;
      return {
        kind: 'compare',
        deadlineMs,
        ...file,
        other: input,
        ...withoutAbsentFields({ otherRaw: raw, isScored }),
      };
    };
    // Both are decoded in memory at once.
    const header = { ...one.header, pixels: one.header.pixels + 2 * other.header.pixels };
    const drawn = [...one.drawn, ...other.drawn];
    const source = { ...one, header, heldBytes: one.heldBytes + other.heldBytes, drawn };
    const measuringMs = call.isScored ? estimatedScoringMs(one.header) : 0;
    const reading = { source, passes: [], deadline, measuringMs };
    const { result, ended } = await this.#start('compare', call, reading, makeTask);
    const comparesFirstFrames = one.header.frames > 1 || other.header.frames > 1;
    return { result: result.then((compared) => ({ ...compared, comparesFirstFrames })), ended };
  };

  /** What a task of passes knows of its file, the second pictures, and its threads of libvips. */
  async #taskFor({ file, header }: OpenedSource, passes: readonly ImagePass[], layers?: OpenedLayers) {
    return {
      ...file,
      ...inputHeaderHintOf(header),
      ...headerReadingsOf(header),
      ...withoutAbsentFields({ layers: await layers?.read() }),
      threads: this.#pools.threadsFor(header, passes),
    };
  }

  /** The second pictures of a call; undefined without any. */
  async #openLayers(
    call: ImageCall & { layers?: LayerFiles },
    deadline: CallDeadline,
  ): Promise<OpenedLayers | undefined> {
    if (call.layers === undefined) return undefined;
    const read = (file: LayerFile, passes: readonly ImagePass[]) =>
      this.#read(call, file, NATURAL_SIZE, passes, deadline);
    return OpenedLayers.open(call.layers, read);
  }

  /** Reads the input of a thread: the file, or the pixels of a drawing. A stored drawing is read at once. */
  async #read(
    { accountId, work }: ImageCall,
    { bytes: file, header: known, param }: LayerFile,
    size: RequestedDrawingSize,
    passes: readonly ImagePass[],
    deadline: CallDeadline,
  ): Promise<ImageSourceFile> {
    if (isStoredFile(file) && file.facts.format !== 'svg') return storedSource(file, passes, param);
    const bytes = isStoredFile(file) ? await file.read() : file;
    const opened = openSourceFile(bytes, known, passes, param);
    const { header } = opened;
    if (header.format !== 'svg') return { header, open: () => opened, heldBytes: bytes.length, drawn: [] };
    const drawn = await this.#rasterizer.draw({ bytes, size, param }, { accountId, work, deadline });
    const { width, height, naturalWidth, naturalHeight, channels, pixels: input } = drawn;
    const pixels = {
      file: { input, raw: { width, height, channels } },
      header: { ...header, width, height, pixels: width * height },
    };
    const drawing = { bytes, width: naturalWidth, height: naturalHeight };
    return { header: pixels.header, open: () => pixels, heldBytes: input.length, drawn: [drawn], drawing };
  }

  /**
   * Starts a task of a call, and resolves when the task has its slot. The result rejects with the call's error if the
   * worker reports a failure.
   */
  async #start<K extends TaskKind>(
    kind: K,
    call: ImageCall,
    { source, layers, passes, deadline, measuringMs }: FileWork,
    makeTask: (opened: OpenedSource, deadlineMs: number) => ImageTask | Promise<ImageTask>,
  ): Promise<Started<AnswerTo<K> & WithQueueTime>> {
    const { accountId, work, incoming, inBatch = false, paramOf, asJob } = call;
    const { header, prepare } = source;
    const heldBytes = source.heldBytes + (layers?.heldBytes ?? 0);
    const drawn = [...source.drawn, ...(layers?.drawn ?? [])];
    const alternatives = () => alternativesToSlowPasses(header, passes, { paramOf, asJob });
    let sentMs = this.#clock.elapsedMs();
    const run = await this.#pools.start(
      {
        ...{ kind, header, passes, accountId, work, incoming, inBatch, heldBytes, prepare },
        ...{ deadline, alternatives, ...withoutAbsentFields({ layers: layers?.headers, measuringMs }) },
      },
      async (deadlineMs) => {
        const task = await makeTask(await source.open(), deadlineMs);
        sentMs = this.#clock.elapsedMs();
        return task;
      },
    );
    const result = run.result.then((result) => {
      this.#selfTest.answered();
      const elapsedMs = this.#clock.elapsedMs() - sentMs;
      if (isAnswerTo(kind, result)) return withAllTimes(result, { queueMs: run.queueMs, elapsedMs }, drawn);
      if (result.kind !== 'failure') throw new Error('An image worker answered with something else.');
      // A thread may notice the deadline before this process does. The error is the same.
      throw isLate(result) ? lateWith(deadline.refusal(), result) : apiErrorOfFailure(result, paramOf);
    });
    return { result, ended: run.ended };
  }
}

function ignore(): void {}

function isAnswerTo<K extends TaskKind>(kind: K, result: ImageTaskResult): result is AnswerTo<K> {
  return result.kind === ANSWERS[kind];
}

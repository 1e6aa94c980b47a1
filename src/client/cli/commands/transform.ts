import { stat } from 'node:fs/promises';
import { dirname, extname, join } from 'node:path';
import type { ImageInput } from '../../bodies.ts';
import type { Darkroom } from '../../client.ts';
import {
  type DarkroomError,
  ForbiddenError,
  InsufficientCreditError,
  UnauthorizedError,
} from '../../errors.ts';
import type { Picture } from '../../picture.ts';
import type { CliCommand, CliContext } from '../context.ts';
import { EXIT_CODES, exitCodeOf, exitCodeOfFailure, UsageError } from '../exit-codes.ts';
import { makeFolder } from '../folders.ts';
import { findInputs, type InputImage } from '../inputs.ts';
import { OutputJournal } from '../journal.ts';
import { type ParsedOp, parseOp } from '../parameters.ts';
import { estimateText, failureObject, type Terminal } from '../terminal.ts';
import { forEachWithLimit, type ImageWork, readImageWork } from '../work.ts';

const TRANSFORM_OPTIONS = {
  output: { type: 'string', short: 'o' },
  names: { type: 'string' },
  preset: { type: 'string' },
  steps: { type: 'string' },
  outputs: { type: 'string', multiple: true },
  layer: { type: 'string' },
  concurrency: { type: 'string', default: '4' },
  again: { type: 'boolean' },
  'dry-run': { type: 'boolean' },
} as const;

const MAX_CONCURRENT_IMAGES = 64;
/**
 * Errors that concern the account. After one of them, the remaining images are skipped, because they would fail as
 * well.
 */
const ACCOUNT_ERROR_CLASSES = [UnauthorizedError, ForbiddenError, InsufficientCreditError];

/** How results are written into a folder: how the files are named, and whether existing files are made again. */
interface FolderTarget {
  folder: string;
  names: string;
  concurrency: number;
  again: boolean;
}

export const transformCommand: CliCommand = {
  usage: `darkroom transform IMAGE … --op NAME [--PARAMETER VALUE …] [-o OUTPUT]
darkroom transform IMAGE … --preset SLUG | --steps FILE.json | --steps '[…]' [-o OUTPUT]
darkroom transform IMAGE … --outputs NAME=OP:PARAMETER=VALUE,… --outputs … -o FOLDER

IMAGE is a file, a folder, an address, the id of an asset, or - for stdin. Parameters of an op: darkroom ops NAME.

  -o, --output      a file, a folder, or - for stdout; one image goes to stdout where that is no terminal
  --outputs         several pictures of one upload: small=resize:width=320,format=webp;sharpen, or
                    avatar=preset:builtin-avatar, or a list as JSON, or its file; --steps run first, once
  --names PATTERN   of files in a folder ({input}.{format}, or {input}-{name}.{format} with --outputs)
  --layer IMAGE     the second picture of --op overlay, and of a step that lays one over the image
  --concurrency N   images at a time (4)
  --again           makes outputs again that are there; without it, a folder goes on where it ended
  --dry-run         tells what would be made, and what it would cost
`,
  async run(args, context) {
    const parsed = await parseOp(args, TRANSFORM_OPTIONS, () => context.client());
    const { positionals, values } = parsed;
    const { output, layer } = values as Record<string, string | undefined>;
    if (positionals.length === 0) throw new UsageError('Name an image: a file, a folder, an address, or -.');
    const { inputs, hasFolder } = await findInputs(positionals, process.stdin, output);
    const [only] = inputs;
    const isSinglePicture =
      inputs.length === 1 && !hasFolder && values.outputs === undefined && !(await isOutputFolder(output));
    const client = await context.client();
    const imageWork = await readImageWork(
      parsed,
      client,
      isSinglePicture ? extname(output ?? '').slice(1) : '',
    );
    if (values['dry-run'] === true) return estimateAll(client, context.terminal, inputs, imageWork);
    if (only !== undefined && isSinglePicture) return transformOne(context, only, imageWork, output);
    return transformAll(context, inputs, imageWork, readFolderTarget(parsed, inputs.length), layer);
  },
};

function readFolderTarget({ values }: ParsedOp, images: number): FolderTarget {
  const { output } = values;
  if (typeof output !== 'string' || output === '-')
    throw new UsageError('Several pictures go into a folder: name it with -o.');
  const concurrency = Number(values.concurrency);
  if (!(concurrency >= 1 && concurrency <= MAX_CONCURRENT_IMAGES))
    throw new UsageError(`--concurrency must be 1 to ${MAX_CONCURRENT_IMAGES}.`);
  const hasNames = values.outputs !== undefined;
  const { names = hasNames ? '{input}-{name}.{format}' : '{input}.{format}' } = values;
  const requiredPlaceholders = [images > 1 ? '{input}' : '', hasNames ? '{name}' : ''];
  const missing = requiredPlaceholders.find((field) => !String(names).includes(field));
  if (missing !== undefined) throw new UsageError(`--names must have ${missing}: files would have one name.`);
  return { folder: output, names: String(names), concurrency, again: values.again === true };
}

async function isOutputFolder(output: string | undefined): Promise<boolean> {
  if (output === undefined) return false;
  if (/[\\/]$/.test(output)) return true;
  return (await stat(output).catch(() => null))?.isDirectory() ?? false;
}

/** One result for an image: the picture, or the error that prevented it. Results have names if an image has several. */
type OutputResult = { name?: string; picture: Picture } | { name: string; error: DarkroomError };

async function makePictures(
  { images }: Darkroom,
  image: ImageInput,
  { work, layer }: ImageWork,
): Promise<OutputResult[]> {
  if (!('outputs' in work)) return [{ picture: await images.transform(image, work, { layer }) }];
  const { outputs, steps } = work;
  const { pictures, errors } = await images.outputs(image, outputs, { steps, layer });
  return [
    ...Array.from(pictures, ([name, picture]) => ({ name, picture })),
    ...Array.from(errors, ([name, error]) => ({ name, error })),
  ];
}

async function transformOne(
  context: CliContext,
  input: InputImage,
  imageWork: ImageWork,
  output = '-',
): Promise<number> {
  const { terminal } = context;
  terminal.refusePictureOnTerminal(output);
  const [made] = await makePictures(await context.client(), await input.open(), imageWork);
  if (made === undefined || 'error' in made) throw new Error('A call of one picture answers one.');
  const { picture } = made;
  if (output === '-') {
    await terminal.writeBytes(await picture.bytes());
    terminal.writeWarnings(picture.warnings);
    return EXIT_CODES.done;
  }
  await picture.save(output);
  printPicture(terminal, input, output, picture);
  return EXIT_CODES.done;
}

/**
 * Works on all images. A failure of one stops the others only if the account is the reason.
 * @returns the highest exit code.
 */
async function transformAll(
  context: CliContext,
  inputs: readonly InputImage[],
  imageWork: ImageWork,
  { folder, names, concurrency, again }: FolderTarget,
  layer: string | undefined,
): Promise<number> {
  const { terminal } = context;
  const client = await context.client();
  const work = layer === undefined ? imageWork.work : [imageWork.work, layer];
  // The folder is created first, so that no call is paid for if it cannot be.
  await makeFolder(folder);
  const journal = await OutputJournal.open(folder, work);
  const left = again ? [...inputs] : inputs.filter((input) => !journal.has(input));
  let [done, code, isOver] = [inputs.length - left.length, EXIT_CODES.done as number, false];
  if (done > 0)
    terminal.writeNote(`${done} of ${inputs.length} are there already (--again makes them again).`);
  const fail = (error: unknown, input: string, name?: string) => {
    code = Math.max(code, exitCodeOf(error));
    isOver ||= ACCOUNT_ERROR_CLASSES.some((kind) => error instanceof kind);
    if (terminal.isForPeople) terminal.writeFailure(error, name === undefined ? input : `${input}, ${name}`);
    else terminal.writeResult({ input, name, error: failureObject(error) }, '');
  };
  await forEachWithLimit(left, concurrency, async (input) => {
    if (isOver) return;
    terminal.showProgress(done, inputs.length, input.name);
    try {
      const made = await makePictures(client, await input.open(), imageWork);
      const saved: string[] = [];
      for (const one of made) {
        if ('error' in one) {
          fail(one.error, input.name, one.name);
          continue;
        }
        const file = outputFileName(names, { input: input.stem, name: one.name, format: one.picture.format });
        const path = join(folder, file);
        await makeFolder(dirname(path));
        await one.picture.save(path);
        printPicture(terminal, input, path, one.picture, one.name);
        saved.push(file);
      }
      if (saved.length === made.length) await journal.add(input, saved);
    } catch (error) {
      fail(error, input.name);
    }
    done += 1;
    terminal.showProgress(done, inputs.length);
  });
  terminal.endProgress();
  return code;
}

function outputFileName(
  pattern: string,
  fields: { input: string; name?: string | undefined; format: string },
): string {
  const values: Record<string, string | undefined> = {
    ...fields,
    format: fields.format === 'jpeg' ? 'jpg' : fields.format,
  };
  return pattern.replaceAll(/\{(\w+)\}/g, (field, name: string) => values[name] ?? field);
}

function printPicture(
  terminal: Terminal,
  input: InputImage,
  output: string,
  picture: Picture,
  name?: string,
): void {
  const { width, height, format, size, requestId, warnings, timing } = picture;
  const facts = {
    input: input.name,
    name,
    output,
    width,
    height,
    format,
    bytes: size,
    requestId,
    warnings,
    timing,
  };
  const codes = warnings.map(({ code }) => ` (${code})`).join('');
  terminal.writeResult(facts, `${input.name} → ${output}  ${width}×${height}  ${size} bytes${codes}`);
}

async function estimateAll(
  { images }: Darkroom,
  terminal: Terminal,
  inputs: readonly InputImage[],
  { work, layer }: ImageWork,
): Promise<number> {
  let code: number = EXIT_CODES.done;
  for (const { name: input, open } of inputs) {
    const image = await open();
    if (!('outputs' in work)) {
      const estimate = await images.estimate(image, work, { layer });
      terminal.writeResult({ input, estimate }, `${input} → ${estimateText(estimate)}`);
      continue;
    }
    const { outputs } = await images.estimateOutputs(image, work.outputs, { steps: work.steps, layer });
    for (const { name, error, ...estimate } of outputs) {
      if (error !== undefined) code = exitCodeOfFailure({});
      const text = error === undefined ? estimateText(estimate) : JSON.stringify(error);
      terminal.writeResult(
        { input, name, ...(error === undefined ? { estimate } : { error }) },
        `${input}, ${name} → ${text}`,
      );
    }
  }
  return code;
}

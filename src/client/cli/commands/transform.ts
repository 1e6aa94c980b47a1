import { mkdir, stat } from 'node:fs/promises';
import { dirname, extname, join } from 'node:path';
import type { Darkroom } from '../../client.ts';
import { ForbiddenError, InsufficientCreditError, UnauthorizedError } from '../../errors.ts';
import type { TransformWork } from '../../nouns/images.ts';
import type { Picture } from '../../picture.ts';
import type { Command, Context } from '../context.ts';
import { EXIT_CODES, exitCodeOf, UsageError } from '../exit-codes.ts';
import { findInputs, type InputImage } from '../inputs.ts';
import { Journal } from '../journal.ts';
import { inParallel } from '../parallel.ts';
import { type ParsedOp, parseOp, readJson, readNamed } from '../parameters.ts';
import { estimateText, failureObject, type Terminal } from '../terminal.ts';

const OPTIONS = {
  output: { type: 'string', short: 'o' },
  preset: { type: 'string' },
  steps: { type: 'string' },
  concurrency: { type: 'string', default: '4' },
  again: { type: 'boolean' },
  'dry-run': { type: 'boolean' },
} as const;

const ENDPOINT = '/images/transform';
const MAX_CONCURRENCY = 64;
/** Errors after which no call of the account can succeed: the other images are left out. */
const ENDS_ALL = [UnauthorizedError, ForbiddenError, InsufficientCreditError];

export const transformCommand: Command = {
  usage: `darkroom transform IMAGE … --op NAME [--PARAMETER VALUE …] [-o OUTPUT]
darkroom transform IMAGE … --preset SLUG | --steps FILE.json | --steps '[…]' [-o OUTPUT]

IMAGE is a file, a folder, an address, the id of an asset, or - for stdin. Parameters of an op: darkroom ops NAME.

  -o, --output      a file, a folder, or - for stdout; one image goes to stdout where that is no terminal
  --concurrency N   images at a time (4)
  --again           makes outputs again that are there; without it, a folder goes on where it ended
  --dry-run         tells what would be made, and what it would cost
`,
  async run(args, context) {
    const parsed = await parseOp(args, OPTIONS, () => context.client());
    const work = await readWork(parsed);
    const { positionals } = parsed;
    const output = parsed.values.output as string | undefined;
    if (positionals.length === 0) throw new UsageError('Name an image: a file, a folder, an address, or -.');
    const { inputs, hasFolder } = await findInputs(positionals, process.stdin, output);
    const client = await context.client();
    const { terminal } = context;
    if (parsed.values['dry-run'] === true) return estimateAll(client, terminal, inputs, work);
    const [only] = inputs;
    if (only !== undefined && inputs.length === 1 && !hasFolder && !(await isFolder(output)))
      return transformOne(context, only, withFormatOf(output, work, parsed), output);
    if (output === undefined || output === '-')
      throw new UsageError('Several images go into a folder: name it with -o.');
    const concurrency = Number(parsed.values.concurrency);
    if (!(concurrency >= 1 && concurrency <= MAX_CONCURRENCY))
      throw new UsageError(`--concurrency must be 1 to ${MAX_CONCURRENCY}.`);
    const again = parsed.values.again === true;
    return transformAll(context, inputs, work, { folder: output, concurrency, again });
  },
};

async function readWork({ values, op, parameters }: ParsedOp): Promise<TransformWork> {
  const { preset, steps } = values;
  if ([op, preset, steps].filter((one) => one !== undefined).length !== 1)
    throw new UsageError('Say what to do by one of --op, --preset and --steps.');
  if (typeof preset === 'string') return { preset };
  if (typeof steps === 'string') {
    const text = steps.startsWith('[') ? steps : await readNamed('steps', steps);
    return { steps: readJson('steps', text) } as TransformWork;
  }
  if (op?.syncEndpoint !== ENDPOINT)
    throw new UsageError(`${op?.op} does not answer a picture at once: see darkroom job run --op ${op?.op}.`);
  return { op: op.op, ...parameters } as TransformWork;
}

/** Takes the format from the name of the output file, if the op has a format and none was given. */
function withFormatOf(output: string | undefined, work: TransformWork, { op }: ParsedOp): TransformWork {
  const extension = extname(output ?? '').slice(1);
  const takes = op?.params.format !== undefined && !('format' in work);
  return takes && extension !== '' ? ({ ...work, format: extension } as TransformWork) : work;
}

async function isFolder(output: string | undefined): Promise<boolean> {
  if (output === undefined) return false;
  if (/[\\/]$/.test(output)) return true;
  return (await stat(output).catch(() => null))?.isDirectory() ?? false;
}

async function transformOne(
  context: Context,
  input: InputImage,
  work: TransformWork,
  output = '-',
): Promise<number> {
  const { terminal } = context;
  if (output === '-' && terminal.isForPeople)
    throw new UsageError('A terminal shows no picture: name a file with -o, or send stdout to a program.');
  const { images } = await context.client();
  const picture = await images.transform(await input.open(), work);
  if (output === '-') {
    await terminal.bytes(await picture.bytes());
    for (const { code, name } of picture.warnings)
      terminal.note(name === undefined ? code : `${code}: ${name}`);
    return EXIT_CODES.done;
  }
  await picture.save(output);
  tell(terminal, input, output, picture);
  return EXIT_CODES.done;
}

/** Works on all images, whatever happens to one. @returns the highest exit code. */
async function transformAll(
  context: Context,
  inputs: readonly InputImage[],
  work: TransformWork,
  { folder, concurrency, again }: { folder: string; concurrency: number; again: boolean },
): Promise<number> {
  const { terminal } = context;
  const client = await context.client();
  const journal = await Journal.open(folder, work);
  const left = again ? [...inputs] : inputs.filter((input) => !journal.has(input));
  let [done, code, isOver] = [inputs.length - left.length, EXIT_CODES.done as number, false];
  if (done > 0) terminal.note(`${done} of ${inputs.length} are there already (--again makes them again).`);
  await inParallel(left, concurrency, async (input) => {
    if (isOver) return;
    terminal.progress(done, inputs.length, input.name);
    try {
      const picture = await client.images.transform(await input.open(), work);
      const name = `${input.stem}.${picture.format === 'jpeg' ? 'jpg' : picture.format}`;
      const path = join(folder, name);
      await mkdir(dirname(path), { recursive: true });
      await picture.save(path);
      await journal.add(input, name);
      tell(terminal, input, path, picture);
    } catch (error) {
      code = Math.max(code, exitCodeOf(error));
      isOver ||= ENDS_ALL.some((kind) => error instanceof kind);
      if (terminal.isForPeople) terminal.failure(error, input.name);
      else terminal.result({ input: input.name, error: failureObject(error) }, '');
    }
    done += 1;
    terminal.progress(done, inputs.length);
  });
  terminal.endProgress();
  return code;
}

function tell(terminal: Terminal, { name }: InputImage, output: string, picture: Picture): void {
  const { width, height, format, size, requestId, warnings } = picture;
  const facts = { input: name, output, width, height, format, bytes: size, requestId, warnings };
  const codes = warnings.map(({ code }) => ` (${code})`).join('');
  terminal.result(facts, `${name} → ${output}  ${width}×${height}  ${size} bytes${codes}`);
}

async function estimateAll(
  client: Darkroom,
  terminal: Terminal,
  inputs: readonly InputImage[],
  work: TransformWork,
): Promise<number> {
  for (const { name, open } of inputs) {
    const estimate = await client.images.estimate(await open(), work);
    terminal.result({ input: name, estimate }, `${name} → ${estimateText(estimate)}`);
  }
  return EXIT_CODES.done;
}

import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { ImageBytes } from '../../bodies.ts';
import type { Darkroom } from '../../client.ts';
import type { Job, JobRequest, JobSummary, PresetStep } from '../../schema.ts';
import type { CliCommand, CliContext } from '../context.ts';
import { EXIT_CODES, exitCodeOfFailure, UsageError } from '../exit-codes.ts';
import { makeFolder } from '../folders.ts';
import { findInputs, type InputImage } from '../inputs.ts';
import { type ParsedOp, parseOp, readListOption, requireExactlyOneWorkOption } from '../parameters.ts';
import type { Terminal } from '../terminal.ts';

const RUN_OPTIONS = {
  output: { type: 'string', short: 'o' },
  preset: { type: 'string' },
  steps: { type: 'string' },
  variants: { type: 'string' },
  from: { type: 'string' },
  collection: { type: 'string', short: 'c' },
  model: { type: 'string' },
  'max-credits': { type: 'string' },
  detach: { type: 'boolean' },
  'dry-run': { type: 'boolean' },
} as const;

/** The parameters of an op that are fields of the job itself instead of its `parameters`. */
const JOB_FIELD_PARAMETERS = ['prompt', 'count', 'templateId', 'items'];

type JobAction = (args: string[], context: CliContext) => Promise<number>;

const JOB_ACTIONS: Readonly<Record<string, JobAction>> = {
  run: runJob,
  get: jobActionById(async (client, id) => client.jobs.get(id)),
  wait: jobActionById((client, id, terminal) => waitForJob(client, id, terminal)),
  cancel: jobActionById(async (client, id) => client.jobs.cancel(id)),
  resume: jobActionById(async (client, id, terminal) =>
    waitForJob(client, (await client.jobs.resume(id)).id, terminal),
  ),
  list: listJobs,
  results: downloadResults,
};

export const jobCommand: CliCommand = {
  usage: `darkroom job run [IMAGE …] --op NAME [--PARAMETER VALUE …] | --preset SLUG | --steps FILE.json | --steps '[…]'
darkroom job get|wait|cancel|resume ID
darkroom job list [--status STATUS]
darkroom job results ID -o FILE.zip

run uploads the images, submits a job over them, waits for its end, and saves its results.

  -o, --output      a folder for the results; without it they stay in the account
  --variants        several results of each image: '[{"name": "s", "parameters": {"width": 320}}, …]', or a file of it
  --from NAME       the images of a collection, instead of IMAGE
  --collection      of the uploads and the results
  --model           of an AI op
  --max-credits N   refuses a job that would cost more
  --detach          ends when the job is submitted
  --dry-run         tells what the job would cost; uploads nothing
`,
  async run([name = '', ...args], context) {
    const action = JOB_ACTIONS[name];
    if (action === undefined)
      throw new UsageError(`Call darkroom job with one of ${Object.keys(JOB_ACTIONS).join(', ')}.`);
    return action(args, context);
  },
};

async function runJob(args: string[], context: CliContext): Promise<number> {
  const parsed = await parseOp(args, RUN_OPTIONS, () => context.client());
  const { values, positionals } = parsed;
  const request = await readJobRequest(parsed);
  const { inputs } = await findInputs(positionals, process.stdin);
  const client = await context.client();
  const { terminal } = context;
  if (values['dry-run'] === true) {
    const imageCount = inputs.length === 0 ? {} : { imageCount: inputs.length };
    const estimate = await client.jobs.estimate({ ...request, ...imageCount });
    const { totalItems, credits, overageCredits } = estimate;
    terminal.writeResult(estimate, `${totalItems} items, ${credits + overageCredits} credits`);
    return EXIT_CODES.done;
  }
  if (typeof values.output === 'string') await makeFolder(values.output);
  const assetIds = await uploadInputs(client, inputs, request.collection, terminal);
  const job = await client.jobs.submit({ ...request, ...(assetIds.length > 0 && { assetIds }) });
  if (values.detach === true) return printJobResult(job, terminal);
  const done = await waitForJob(client, job.id, terminal);
  if (typeof values.output === 'string') await saveResults(client, done, inputs, values.output, terminal);
  return printJobResult(done, terminal);
}

type JobVariant = NonNullable<JobRequest['variants']>[number];

async function readJobRequest({ values, op, parameters }: ParsedOp): Promise<JobRequest> {
  const { preset, steps, variants, from, collection, model } = values as Record<string, string | undefined>;
  requireExactlyOneWorkOption([op, preset, steps]);
  const entries = Object.entries(parameters);
  const isJobField = ([name]: [string, unknown]) => JOB_FIELD_PARAMETERS.includes(name);
  const own = Object.fromEntries(entries.filter((entry) => !isJobField(entry)));
  const maxCredits = values['max-credits'] === undefined ? undefined : Number(values['max-credits']);
  if (Number.isNaN(maxCredits)) throw new UsageError('--max-credits must be a number.');
  return {
    ...(op !== undefined && { op: op.op }),
    ...(preset !== undefined && { presetId: preset }),
    ...(steps !== undefined && { steps: (await readListOption('steps', steps)) as PresetStep[] }),
    ...(variants !== undefined && { variants: (await readListOption('variants', variants)) as JobVariant[] }),
    ...(from !== undefined && { from: { collection: from } }),
    ...Object.fromEntries(entries.filter(isJobField)),
    ...(Object.keys(own).length > 0 && { parameters: own }),
    ...(collection !== undefined && { collection }),
    ...(model !== undefined && { model }),
    ...(maxCredits !== undefined && { maxCredits }),
  };
}

/** Uploads the inputs, and returns their asset ids. */
async function uploadInputs(
  client: Darkroom,
  inputs: readonly InputImage[],
  collection: string | undefined,
  terminal: Terminal,
): Promise<string[]> {
  const ids: string[] = [];
  for (const input of inputs) {
    terminal.showProgress(ids.length, inputs.length, input.name);
    const image = await input.open();
    const labels = collection === undefined ? {} : { collection };
    const isAsset = 'assetId' in image;
    ids.push(isAsset ? image.assetId : (await client.assets.upload(image as ImageBytes, labels)).id);
  }
  terminal.endProgress();
  return ids;
}

/** Waits for the end of a job, and shows its progress. Ctrl+C ends the wait, but not the job. */
async function waitForJob(client: Darkroom, jobId: string, terminal: Terminal): Promise<Job> {
  const job = await client.jobs.wait(jobId, {
    onProgress: ({ completedItems, failedItems, cancelledItems, totalItems, status }) =>
      terminal.showProgress(completedItems + failedItems + cancelledItems, totalItems, status),
  });
  terminal.endProgress();
  return job;
}

/** Prints the result of a job, and returns the exit code. For a failed job, the job's error code determines it. */
function printJobResult(job: Job, terminal: Terminal): number {
  terminal.writeResult(job, jobText(job));
  if (job.status !== 'FAILED') return EXIT_CODES.done;
  return exitCodeOfFailure({ code: job.errorCode ?? '', retryable: job.retryable ?? false });
}

function jobText({ id, status, completedItems, totalItems, errorMessage = '' }: JobSummary): string {
  return `${id}  ${status}  ${completedItems}/${totalItems}  ${errorMessage}`.trimEnd();
}

async function saveResults(
  client: Darkroom,
  { id, totalItems }: Job,
  inputs: readonly InputImage[],
  folder: string,
  terminal: Terminal,
): Promise<void> {
  for await (const { index, variant, assetId, resultAssetId, output } of client.jobs.items(id)) {
    if (resultAssetId === undefined) {
      if (output !== undefined) terminal.writeResult({ index, assetId, output }, JSON.stringify(output));
      continue;
    }
    const result = await client.assets.download(resultAssetId);
    const stem = inputs.length === totalItems ? inputs[index]?.stem.replaceAll(/[\\/]/g, '-') : `${index}`;
    const name = [stem, variant].filter((part) => part !== undefined).join('-');
    const path = join(folder, `${name}.${extensionOf(result.contentType)}`);
    await result.save(path);
    terminal.writeResult({ index, assetId, resultAssetId, output: path }, `${index} → ${path}`);
  }
}

function extensionOf(contentType: string): string {
  return contentType.replace('image/', '').replace('jpeg', 'jpg').replace('svg+xml', 'svg');
}

/** Makes a command that acts on the job whose id is its only argument. */
function jobActionById(
  act: (client: Darkroom, jobId: string, terminal: Terminal) => Promise<Job>,
): JobAction {
  return async (args, context) => {
    const { positionals } = parseArgs({ args, allowPositionals: true });
    const [jobId] = positionals;
    if (jobId === undefined || positionals.length > 1) throw new UsageError('Name one job by its id.');
    return printJobResult(await act(await context.client(), jobId, context.terminal), context.terminal);
  };
}

async function listJobs(args: string[], context: CliContext): Promise<number> {
  const options = { status: { type: 'string' }, limit: { type: 'string', default: '100' } } as const;
  const { status, limit } = parseArgs({ args, options }).values;
  const { jobs } = await context.client();
  const query = (status === undefined ? {} : { status }) as Parameters<typeof jobs.list>[0];
  for (const job of await jobs.list(query).all(Number(limit)))
    context.terminal.writeResult(job, jobText(job));
  return EXIT_CODES.done;
}

async function downloadResults(args: string[], context: CliContext): Promise<number> {
  const options = { output: { type: 'string', short: 'o' } } as const;
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true });
  const [jobId] = positionals;
  const { output = `${jobId}.zip` } = values;
  if (jobId === undefined) throw new UsageError('Name one job by its id.');
  await (await (await context.client()).jobs.download(jobId)).save(output);
  context.terminal.writeResult({ output }, output);
  return EXIT_CODES.done;
}

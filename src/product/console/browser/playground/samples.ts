import type { OpDefinition } from '../../../../client/schema.ts';
import { callSamples, type SampleCall } from '../../../reference/call.ts';
import { commandLineSample, commandLineText } from '../../../reference/command-line.ts';
import type { CodeSample } from '../parts/values.ts';
import { rowOfFormValues } from '../saved/row.ts';
import { findLoneStep, jobRequestOf, needsPicture, type PlaygroundWork, type WorkStep } from './work.ts';

const PHOTO_NAME = 'photo.jpg';
const PHOTO_BODY = { file: PHOTO_NAME, type: 'image/jpeg' };
/** The asset id in the catalogue's examples. Code samples contain the variable ASSET instead. */
const EXAMPLE_ASSET_ID = 'ast_000000000000000000000000';

/**
 * Code samples for the call that the playground makes, for programs and agents.
 * @param definition the op of the work: its first step's op, or the op that draws templates.
 */
export function samplesFor(work: PlaygroundWork, definition: OpDefinition | undefined): CodeSample[] {
  const command = commandFor(work, definition);
  return [
    ...callSamples(callOf(work, definition)).map(({ label, code }) => ({ label, code })),
    ...(command === undefined ? [] : [{ label: 'Command line', code: command }]),
    { label: 'MCP', code: JSON.stringify(toolCallOf(work, definition), null, 2) },
  ];
}

function callOf(work: PlaygroundWork, definition: OpDefinition | undefined): SampleCall {
  const transform = { method: 'POST', path: '/api/v1/images/transform', needsKey: true };
  switch (work.kind) {
    case 'preset':
      return { ...transform, query: { preset: work.slug }, body: PHOTO_BODY, saves: 'result.jpg' };
    case 'template': {
      const json = { templateId: work.id, data: rowOfFormValues(work.data) };
      return { ...transform, path: '/api/v1/images/render', body: { json }, saves: 'result.png' };
    }
    case 'steps': {
      const lone = findLoneStep(work);
      const saves = `result.${formatOf(work.steps)}`;
      if (lone !== undefined)
        return { ...transform, query: { op: lone.op, ...lone.parameters }, body: PHOTO_BODY, saves };
      const texts = {
        ...(work.steps.length > 0 && { steps: JSON.stringify(work.steps) }),
        ...(work.outputs.length > 0 && { outputs: JSON.stringify(work.outputs) }),
      };
      const isSeveral = work.outputs.length > 0;
      // For several results, the samples request links instead of multipart/mixed, which not every language can parse.
      const asked = isSeveral ? { query: { response: 'url' } } : { saves };
      return { ...transform, ...asked, body: { parts: { file: PHOTO_NAME }, texts } };
    }
    case 'op':
      return opCall(work, definition);
  }
}

function opCall(
  { op, values }: Extract<PlaygroundWork, { kind: 'op' }>,
  definition: OpDefinition | undefined,
): SampleCall {
  const path = definition?.kind === 'ai' ? undefined : (definition?.endpoint ?? definition?.syncEndpoint);
  if (path !== undefined)
    return { method: 'POST', path: `/api/v1${path}`, needsKey: true, query: values, body: PHOTO_BODY };
  const json = {
    ...jobRequestOf(op, values),
    ...(definition?.requiresAssets && { assetIds: [EXAMPLE_ASSET_ID] }),
  };
  return { method: 'POST', path: '/api/v1/jobs', needsKey: true, query: { wait: 30 }, body: { json } };
}

function commandFor(work: PlaygroundWork, definition: OpDefinition | undefined): string | undefined {
  const transform = ['darkroom', 'transform', PHOTO_NAME];
  switch (work.kind) {
    case 'preset':
      return commandLineText(transform, { preset: work.slug }, 'result.jpg');
    case 'template':
      return (
        definition && exampleCommand(definition, { templateId: work.id, data: rowOfFormValues(work.data) })
      );
    case 'steps': {
      if (work.steps.length === 0 || work.outputs.length > 0) return undefined;
      const lone = findLoneStep(work);
      if (definition !== undefined && lone !== undefined)
        return exampleCommand(definition, { op: lone.op, ...lone.parameters });
      return commandLineText(transform, { steps: work.steps }, `result.${formatOf(work.steps)}`);
    }
    case 'op':
      return (
        definition && commandLineSample({ ...definition, example: jobRequestOf(work.op, work.values) })?.code
      );
  }
}

function exampleCommand(definition: OpDefinition, syncExample: Record<string, unknown>): string | undefined {
  return commandLineSample({ ...definition, syncExample })?.code;
}

/** The call of the MCP tool that does the same as the work. */
function toolCallOf(work: PlaygroundWork, definition: OpDefinition | undefined): object {
  const input = needsPicture(work, definition) ? { input: `./${PHOTO_NAME}` } : {};
  switch (work.kind) {
    case 'preset':
      return { name: 'run', arguments: { ...input, preset: work.slug } };
    case 'template':
      return { name: 'render', arguments: { template: work.id, data: rowOfFormValues(work.data) } };
    case 'steps': {
      const { steps, outputs } = work;
      return {
        name: 'run',
        arguments: { ...input, ...(steps.length > 0 && { steps }), ...(outputs.length > 0 && { outputs }) },
      };
    }
    case 'op': {
      if (definition?.kind !== 'ai') return { name: 'facts', arguments: input };
      const { assetIds: _, ...request } = jobRequestOf(work.op, work.values);
      const inputs = definition.requiresAssets ? { inputs: [`./${PHOTO_NAME}`] } : {};
      return { name: 'job', arguments: { action: 'submit', ...request, ...inputs, wait: 50 } };
    }
  }
}

function formatOf(steps: readonly WorkStep[]): string {
  const format = steps.map(({ parameters }) => parameters.format).findLast((one) => one !== undefined);
  return typeof format === 'string' ? format.replace('jpeg', 'jpg') : 'jpg';
}

import { Type } from '@sinclair/typebox';
import type { PresetData } from '../../../client/schema.ts';
import { jsonRequestBody } from '../../../client/transport.ts';
import { invalidParamError } from '../../../platform/http/errors/errors.ts';
import { AnyObjectSchema, defineTool } from '../tool.ts';

/** The maximum number of presets that the tool lists, built-in presets first. */
const MAX_LISTED_PRESETS = 100;

export const presetsTool = defineTool({
  name: 'presets',
  title: 'Keep and read presets',
  description:
    'Named, versioned lists of steps. list; get by preset; save new ones by name and steps, or a new version of preset.',
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  input: {
    action: Type.Unsafe<'list' | 'get' | 'save'>({ type: 'string', enum: ['list', 'get', 'save'] }),
    preset: Type.Optional(Type.String({ description: 'Slug, also slug@version to get.' })),
    name: Type.Optional(Type.String()),
    steps: Type.Optional(Type.Array(AnyObjectSchema, { minItems: 1 })),
    description: Type.Optional(Type.String()),
  },
  output: {
    preset: Type.String(),
    version: Type.Integer(),
    steps: Type.Array(AnyObjectSchema),
    presets: Type.Array(Type.String()),
  },
  async run({ action, preset, name, steps, description }, { service }) {
    if (action === 'list') {
      const { data } = await service.json<PresetData[]>({ method: 'GET', path: '/presets' });
      return { structured: { presets: data.slice(0, MAX_LISTED_PRESETS).map(presetLine) } };
    }
    const path = preset === undefined ? '/presets' : `/presets/${encodeURIComponent(preset)}`;
    if (action === 'get') {
      if (preset === undefined)
        throw invalidParamError('preset', 'preset is missing: send the slug, as list answers it.');
      return { structured: presetView((await service.json<PresetData>({ method: 'GET', path })).data) };
    }
    const method = preset === undefined ? 'POST' : 'PUT';
    const body = jsonRequestBody({ name, steps, description });
    const { slug, version, warnings = [] } = (await service.json<PresetData>({ method, path, body })).data;
    return { structured: { preset: slug, version, ...(warnings.length > 0 && { warnings }) } };
  },
});

/** A preset in one line, such as `avatar: thumbnail, round_corners`. */
function presetLine({ slug, steps }: PresetData): string {
  return `${slug}: ${steps.map(({ op, operation }) => op ?? operation).join(', ')}`;
}

function presetView({ slug, name, version, description, steps }: PresetData) {
  return { preset: slug, name, version, ...(description !== '' && { description }), steps };
}

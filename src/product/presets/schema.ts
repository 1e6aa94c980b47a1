import { type Static, Type } from '@sinclair/typebox';
import {
  componentSchema,
  flagField,
  instantField,
  int32Field,
  int64Field,
  NOT_BLANK_SCHEMA,
  textField,
  UNRESERVED_SLUG_SCHEMA,
  VERSION_NUMBER_SCHEMA,
  VERSIONED_REFERENCE_SCHEMA,
} from '../../platform/http/fields.ts';
import { SLUG_PATTERN } from '../../platform/ids/slugs.ts';
import {
  MAX_SUBJECTS,
  PromptSubject,
  RequestedPromptSubjects,
  RequestedStepList,
} from '../catalogue/plan/step.ts';

/** The maximum length of a preset's name, to protect the store. Real names are far shorter. */
const MAX_NAME_CHARACTERS = 1_000;
const MAX_DESCRIPTION_CHARACTERS = 10_000;
/**
 * The maximum length of a slug, to protect the store. A slug that is derived from a name is far shorter (ids/slugs.ts).
 */
export const MAX_PRESET_SLUG_CHARACTERS = 1_000;

/** The maximum number of stored versions of a preset, including the current one. */
export const MAX_PRESET_VERSIONS = 50;
/** The highest version number in an import. Later versions count upwards from it, and must stay far within an int32. */
const MAX_IMPORTED_VERSION = 1_000_000_000;

const subjects = Type.Array(PromptSubject, { maxItems: MAX_SUBJECTS });

/** The maximum number of widths that a preset declares. */
const MAX_WIDTHS = 32;
const MAX_WIDTH_PX = 8_192;

const widths = Type.Array(Type.Integer({ minimum: 1, maximum: MAX_WIDTH_PX }), {
  minItems: 1,
  maxItems: MAX_WIDTHS,
  description: 'Ascending: what signed addresses of it may ask for.',
});

const fallback = Type.Object(
  {
    assetId: Type.String({ minLength: 1 }),
    status: Type.Unsafe<200 | 404>({ type: 'integer', enum: [200, 404] }),
  },
  {
    additionalProperties: false,
    description: 'Answered by signed addresses of it, with that status, while their source is away.',
  },
);

const name = Type.String({
  maxLength: MAX_NAME_CHARACTERS,
  description: 'Not blank.',
  documented: NOT_BLANK_SCHEMA,
});
const description = Type.String({
  maxLength: MAX_DESCRIPTION_CHARACTERS,
  description: 'An empty string on PUT empties it.',
});
const deliveryFields = { widths: Type.Optional(widths), fallback: Type.Optional(fallback) };

/** The body of POST /presets. It may contain the other fields of a response, which are ignored. */
export const NewPreset = Type.Object(
  {
    name,
    steps: RequestedStepList,
    description: Type.Optional(description),
    subjects: Type.Optional(RequestedPromptSubjects),
    ...deliveryFields,
    slug: Type.Optional(
      Type.String({
        pattern: SLUG_PATTERN,
        maxLength: MAX_PRESET_SLUG_CHARACTERS,
        description: 'Unique in the account. Made from the name when omitted; `builtin-` is reserved.',
        documented: UNRESERVED_SLUG_SCHEMA,
      }),
    ),
  },
  {
    title: 'NewPreset',
    examples: [
      {
        name: 'Avatar',
        steps: [
          { op: 'thumbnail', parameters: { size: 300 } },
          { op: 'round_corners', parameters: { radius: '50%', format: 'png' } },
        ],
      },
    ],
  },
);
export type NewPreset = Static<typeof NewPreset>;

/** The body of PUT /presets/{slug}. Fields that are missing keep their value. */
export const PresetChange = Type.Partial(NewPreset, {
  title: 'PresetChange',
  examples: [{ name: 'Avatar, round' }],
});
export type PresetChange = Static<typeof PresetChange>;

const version = Type.Integer({ minimum: 1, format: 'int32' });

/** An entry of an import, in the form of an exported preset. A slug that cannot be used is ignored. */
export const PresetEntry = Type.Object({
  ...NewPreset.properties,
  slug: Type.Optional(Type.Unknown()),
  version: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_IMPORTED_VERSION })),
  versions: Type.Optional(
    Type.Array(
      Type.Object({
        version: Type.Integer({ minimum: 1 }),
        steps: RequestedStepList,
        subjects: Type.Optional(RequestedPromptSubjects),
        ...deliveryFields,
        updatedAt: Type.Optional(Type.String()),
      }),
    ),
  ),
});
export type PresetEntry = Static<typeof PresetEntry>;

/**
 * The body of POST /presets/import. The schema accepts any entry; entries are checked one by one, so that an invalid
 * one does not affect the others.
 */
export const PresetEntries = Type.Array(
  Type.Unsafe<unknown>({
    description: 'A preset as GET /api/v1/presets/{slug} answers it, with its versions.',
  }),
  {
    title: 'PresetEntries',
    minItems: 1,
    examples: [[{ name: 'Small', steps: [{ op: 'resize', parameters: { width: 300 } }] }]],
  },
);

export const PresetVersionData = componentSchema('PresetVersionData', {
  version,
  steps: RequestedStepList,
  subjects,
  ...deliveryFields,
  updatedAt: instantField('When that version was saved.'),
});

export const PresetUsage = componentSchema('PresetUsage', {
  runs: int64Field('Jobs that ran it at any version, while they are on record.'),
  lastRunAt: Type.Optional(instantField('When the most recent was submitted.')),
});
export type PresetUsage = Static<typeof PresetUsage>;

const StepWarning = Type.Object({
  code: Type.String(),
  name: Type.Optional(textField('The parameter that it is about.')),
  meant: Type.Optional(
    Type.Object(
      { name: Type.String(), value: Type.Optional(Type.String()) },
      { description: 'What was probably meant.' },
    ),
  ),
  message: Type.String(),
  steps: Type.Array(Type.Integer(), { description: 'Indexes concerned, the redundant one first.' }),
});

/** A preset in a response. Only responses to reads contain usage, and only responses to writes contain warnings. */
export const PresetData = componentSchema('PresetData', {
  id: textField('`pre_…`; of a built-in `builtin-…`.'),
  builtIn: Type.Boolean(),
  name,
  slug: Type.String(),
  description,
  steps: RequestedStepList,
  subjects,
  ...deliveryFields,
  version,
  versionCount: int32Field('Current and superseded versions.'),
  versions: Type.Optional(
    Type.Array(PresetVersionData, { description: 'Superseded versions, oldest first.' }),
  ),
  usage: Type.Optional(PresetUsage),
  warnings: Type.Optional(Type.Array(StepWarning)),
  createdAt: instantField('When the preset was created.'),
  updatedAt: instantField(
    'When it was last saved, a rename included; of an earlier version, when that was saved.',
  ),
});
export type PresetData = Static<typeof PresetData>;

export const PresetListQuery = Type.Object({
  filter: Type.Optional(Type.Unsafe<'builtin' | 'user'>({ type: 'string', enum: ['builtin', 'user'] })),
  includeVersions: Type.Optional(flagField('Whether rows carry their history.')),
});
export type PresetListQuery = Static<typeof PresetListQuery>;

export const PresetParams = Type.Object({
  slug: Type.String({
    description: 'Slug or id; slug@version if the endpoint reads a version.',
    documented: VERSIONED_REFERENCE_SCHEMA,
  }),
});
export type PresetParams = Static<typeof PresetParams>;

export const PresetReadQuery = Type.Object({
  version: Type.Optional(
    Type.String({
      description: 'The same as slug@version; a positive integer.',
      documented: VERSION_NUMBER_SCHEMA,
    }),
  ),
});
export type PresetReadQuery = Static<typeof PresetReadQuery>;

export const PresetVersionParams = Type.Object({
  ...PresetParams.properties,
  version: Type.String({
    description: 'A superseded version, a positive integer.',
    documented: VERSION_NUMBER_SCHEMA,
  }),
});
export type PresetVersionParams = Static<typeof PresetVersionParams>;

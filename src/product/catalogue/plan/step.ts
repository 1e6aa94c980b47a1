import { type Static, Type } from '@sinclair/typebox';
import { WITHIN_PARAMETERS } from '../index.ts';

/** The most steps in a list. It is far above what is needed, and protects the store and its readers. */
const MAX_STEPS = 1_000;

export const MAX_SUBJECTS = 4;
export const MAX_SUBJECT_REFERENCES = 4;

/** A step in one of two forms: an op of the catalogue, or an operation of the registry. */
export const PresetStep = Type.Object(
  {
    op: Type.Optional(Type.String({ description: 'An op of kind ai or deterministic.' })),
    model: Type.Optional(Type.String({ description: "AI steps; the op's default when absent." })),
    prompt: Type.Optional(
      Type.String({
        description: 'AI steps; `{{subject.<name>}}` expands to the descriptor of that subject.',
      }),
    ),
    parameters: Type.Optional(
      Type.Unsafe<Record<string, unknown>>({
        type: 'object',
        additionalProperties: true,
        description: "The op's parameters; at most 64 KB of JSON.",
      }),
    ),
    operation: Type.Optional(Type.String({ description: 'A key of the processing registry.' })),
    params: Type.Optional(Type.Unsafe<unknown>({ description: "The operation's arguments." })),
  },
  {
    title: 'PresetStep',
    documented: { oneOf: [{ required: ['op'] }, { required: ['operation'] }] },
    additionalProperties: false,
    elsewhere: 'what the op takes goes into parameters of the step',
    within: WITHIN_PARAMETERS,
    examples: [{ op: 'resize', parameters: { width: 800 } }],
  },
);
export type PresetStep = Static<typeof PresetStep>;

/** A list of steps as sent, in a preset or in a job. */
export const RequestedStepList = Type.Array(PresetStep, {
  minItems: 1,
  maxItems: MAX_STEPS,
  description: 'Run in order. Adjacent deterministic steps are one pass; each AI step is its own segment.',
});

/** A person or an object that prompts mention, with pictures that are sent to the model. */
export const PromptSubject = Type.Object(
  {
    name: Type.String({ pattern: '^[a-z0-9][a-z0-9_-]{0,39}$', description: 'Unique within the preset.' }),
    referenceAssetIds: Type.Array(Type.String({ minLength: 1 }), {
      minItems: 1,
      description: `Your own assets with status DONE; at most ${MAX_SUBJECT_REFERENCES} across all subjects.`,
    }),
    descriptor: Type.Optional(Type.String({ maxLength: 300 })),
  },
  {
    title: 'Subject',
    examples: [
      { name: 'hero', referenceAssetIds: [`ast_${'0'.repeat(24)}`], descriptor: 'A tall woman in red' },
    ],
  },
);
export type PromptSubject = Static<typeof PromptSubject>;

/** Subjects as sent. Rules check them after this schema, so that every error names `subjects`. */
export const RequestedPromptSubjects = Type.Array(
  Type.Unsafe<unknown>({ description: 'name, referenceAssetIds and descriptor.' }),
  {
    description: `At most ${MAX_SUBJECTS}; a list of steps with subjects needs a generate or edit step.`,
  },
);

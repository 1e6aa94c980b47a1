import { type Static, Type } from '@sinclair/typebox';
import { componentSchema, NOT_BLANK_SCHEMA } from '../../platform/http/fields.ts';

export const FEEDBACK_KINDS = ['capability_gap', 'bug', 'other'] as const;
export const MAX_FEEDBACK_MESSAGE_CHARACTERS = 4000;
const MAX_OP_CHARACTERS = 64;
export const MAX_FEEDBACK_CONTEXT_CHARACTERS = 4000;

const op = Type.String({
  maxLength: MAX_OP_CHARACTERS,
  description: 'The op that it is about; not checked against the catalogue.',
});
const context = Type.Record(Type.String(), Type.Unknown(), {
  description: `Whatever helps; at most ${MAX_FEEDBACK_CONTEXT_CHARACTERS} characters as JSON.`,
});

export const FeedbackRequest = Type.Object(
  {
    kind: Type.String({
      description: `${FEEDBACK_KINDS.join(', ')}, in any case.`,
      documented: { pattern: `^(${FEEDBACK_KINDS.map(caseInsensitivePattern).join('|')})$` },
    }),
    message: Type.String({
      description: `At most ${MAX_FEEDBACK_MESSAGE_CHARACTERS} characters without the space around it; not blank.`,
      documented: { ...NOT_BLANK_SCHEMA, maxLength: MAX_FEEDBACK_MESSAGE_CHARACTERS },
    }),
    op: Type.Optional(op),
    context: Type.Optional(context),
  },
  {
    title: 'FeedbackRequest',
    additionalProperties: false,
    examples: [{ kind: 'capability_gap', message: 'HEIC files are not read.' }],
  },
);
export type FeedbackRequest = Static<typeof FeedbackRequest>;

function caseInsensitivePattern(word: string): string {
  return [...word].map((letter) => (letter === '_' ? letter : `[${letter}${letter.toUpperCase()}]`)).join('');
}

export const Feedback = componentSchema('Feedback', {
  id: Type.String(),
  kind: Type.Union(FEEDBACK_KINDS.map((kind) => Type.Literal(kind))),
  message: Type.String(),
  op: Type.Optional(op),
  context: Type.Optional(context),
  apiKeyId: Type.Optional(
    Type.String({ description: 'The key it was filed with; absent for a console session.' }),
  ),
  createdAt: Type.String({ format: 'date-time' }),
});
export type Feedback = Static<typeof Feedback>;

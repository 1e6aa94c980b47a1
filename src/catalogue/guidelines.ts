import { createHash } from 'node:crypto';
import type { Guidelines, OpDefinition, OpParameter } from './schema.ts';

const RULES = `# Darkroom: guidelines for agents

1. Look up an op in the catalogue (GET /api/v1/ops, GET /api/v1/ops/{op}) before using it: names, bounds and defaults stand there, and an undeclared parameter of a deterministic op is refused.
2. For one image now, call the op's syncEndpoint: nothing is stored and the pixels come back. For a batch, an AI op or a result to keep, submit a job.
3. Price a job before submitting it: the same body to POST /api/v1/jobs?dryRun=true answers every refusal and the price, and runs nothing.
4. Send an Idempotency-Key with every write, and the same key again when you repeat it after a timeout.
5. Join steps: several deterministic steps in one preset or one \`steps\` list are decoded and encoded once and count as one run an item.
6. On a failure branch on error.code, never on its message. Repeat the call only when error.retryable is true, after Retry-After seconds when the header is there. Otherwise mend the field named in error.param; error.details says what is allowed.
7. Wait for a job with ?wait= (at most 60 seconds) or a webhook rather than by polling in a tight loop. Read its status: FAILED is an end too, and the items that completed are kept.
8. When the service lacks something, file it: POST /api/v1/feedback with kind capability_gap.
`;

/**
 * The operating rules, and the catalogue in words, made from what answers /ops.
 * @param updatedAt when this release was installed.
 */
export function guidelinesOf(definitions: readonly OpDefinition[], updatedAt: Date): Guidelines {
  const document = [RULES, '## Ops\n', ...definitions.map(opSection)].join('\n');
  const version = createHash('sha256').update(document).digest('hex').slice(0, 12);
  return { version, updatedAt: updatedAt.toISOString(), document };
}

function opSection(definition: OpDefinition): string {
  const { op, kind, description, params, pricing, produces, jobType } = definition;
  const endpoint = definition.endpoint ?? definition.syncEndpoint;
  const facts = [
    kind,
    `makes ${produces}`,
    ...(jobType === undefined ? [] : [`job type ${jobType}`]),
    ...(endpoint === undefined ? [] : [`POST ${endpoint}`]),
  ];
  const lines = Object.entries(params).map(([name, parameter]) => `- ${name}: ${parameterLine(parameter)}`);
  return [`### ${op}\n`, description, '', `${facts.join('; ')}. ${pricing.summary}`, '', ...lines, ''].join(
    '\n',
  );
}

function parameterLine({ type, enum: words, min, max, default: fallback, description }: OpParameter): string {
  const types = type.split(' or ');
  // Of several types numbers alone have bounds: text beside them is a choice of words.
  const bounded = types.filter(isNumeric).length > 0 ? isNumeric : () => true;
  const worded = types.includes('string') ? 'string' : types[0];
  const told = types.map((one) => {
    const values = words === undefined || one !== worded ? '' : ` (${words.join(', ')})`;
    return `${one}${bounded(one) ? boundsOf(one, min, max) : ''}${values}`;
  });
  const otherwise = fallback === undefined ? '' : `, default ${fallback}`;
  return `${told.join(' or ')}${otherwise}. ${description}`;
}

function isNumeric(type: string): boolean {
  return type === 'integer' || type === 'number';
}

/** Bounds of a number's value, or of how long a text or a list is. */
function boundsOf(type: string, min: number | undefined, max: number | undefined): string {
  if (min === undefined && max === undefined) return '';
  const counted = isNumeric(type) ? '' : type === 'array' ? ' entries' : ' characters';
  if (max === undefined) return ` of at least ${min}${counted}`;
  if (min === undefined) return ` of at most ${max}${counted}`;
  return counted === '' ? ` ${min} to ${max}` : ` of ${min} to ${max}${counted}`;
}

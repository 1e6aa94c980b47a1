import { Type } from '@sinclair/typebox';
import type { FastifyRequest } from 'fastify';
import { flag } from './fields.ts';

/** The names of the query field by which a call is only checked and priced. */
export const DRY_RUN_NAMES = ['dryRun', 'dry_run'] as const;

/** The query fields of a dry run. @param description says what it does. */
export function dryRunFields(description: string) {
  return {
    dryRun: Type.Optional(flag(description)),
    dry_run: Type.Optional(flag('The same as dryRun.')),
  };
}

/** Whether a call is only checked and priced. It may be asked before validation, when values of a query are text. */
export function isDryRun({ query }: Pick<FastifyRequest, 'query'>): boolean {
  const sent = query as Record<string, unknown>;
  return DRY_RUN_NAMES.some((name) => String(sent[name]).toLowerCase() === 'true');
}

import { type TSchema, Type } from '@sinclair/typebox';
import type { FastifyReply } from 'fastify';
import { success } from '../envelope.ts';

/** The imported entries, and one line per refused entry. @param title the schema's own. */
export function importResultOf<T extends TSchema>(title: string, entry: T) {
  return Type.Object(
    {
      data: Type.Array(entry, { description: 'As saved, in the order sent.' }),
      errors: Type.Optional(Type.Array(Type.String(), { description: 'Absent when all landed.' })),
      importedCount: Type.Integer({ format: 'int32' }),
    },
    { title },
  );
}

/**
 * Answers an import.
 * @param data what landed, as the API shows it.
 * @param sent how many entries came. @param of what they are, in the plural: 'presets'.
 */
export function sendImported(
  reply: FastifyReply,
  data: readonly unknown[],
  errors: readonly string[],
  { sent, of }: { sent: number; of: string },
) {
  const result = { data, importedCount: data.length };
  const answer = errors.length === 0 ? result : { ...result, errors };
  return reply.code(201).send(success(`${data.length} of ${sent} ${of} imported.`, answer));
}

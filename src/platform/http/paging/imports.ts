import { type TSchema, Type } from '@sinclair/typebox';
import type { FastifyReply } from 'fastify';
import { sendCreated } from '../created.ts';

/**
 * The schema of an import's response: the imported entries, and one line per refused entry.
 * @param title the title of the schema.
 */
export function importResultSchema<T extends TSchema>(title: string, entry: T) {
  return Type.Object(
    {
      data: Type.Array(entry, { description: 'As saved, in the order sent.' }),
      errors: Type.Optional(
        Type.Array(Type.String(), { description: 'Absent when every entry was imported.' }),
      ),
      importedCount: Type.Integer({ format: 'int32' }),
    },
    { title },
  );
}

/**
 * Sends the response to an import.
 * @param data the imported entries, as the API shows them.
 * @param sent the number of sent entries.
 * @param of their plural name, which is also their path: 'presets'.
 */
export function sendImportResult(
  reply: FastifyReply,
  data: readonly unknown[],
  errors: readonly string[],
  { sent, of }: { sent: number; of: string },
) {
  const result = { data, importedCount: data.length };
  const answer = errors.length === 0 ? result : { ...result, errors };
  return sendCreated(reply, `/${of}`, `${data.length} of ${sent} ${of} imported.`, answer);
}

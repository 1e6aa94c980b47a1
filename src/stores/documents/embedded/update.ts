import { type Modifier, update as mutateObject } from 'mingo/updater';
import { equalities, upsertId } from '../filter.ts';
import type { Document, Filter, Update } from '../port.ts';

/** Changes the document in place. Throws when the update would change its `_id`. */
export function applyUpdate(document: Document, { $setOnInsert: _whenInserted, ...operators }: Update): void {
  mutateObject(
    document as Document & Record<string, unknown>,
    operators as Modifier<Document & Record<string, unknown>>,
  );
}

/** The document that an upsert inserts: what the filter fixes, then $setOnInsert and the update. */
export function upserted(filter: Filter, update: Update): Document {
  const document: Document = { _id: upsertId(filter, update) };
  const { _id, ...initial } = { ...equalities(filter), ...update.$setOnInsert };
  applyUpdate(document, { $set: initial });
  applyUpdate(document, update);
  return document;
}

import type { CollectionSpec, IndexSpec } from '../../platform/stores/documents/port.ts';
import { COLLECTIONS } from '../collections.ts';
import { type Finding, ok, problem, warning } from './finding.ts';

const MEND =
  'Restart the service, which builds them; where it cannot, its log says why, such as documents that break a unique one.';

/** The indexes of the database that an address names, beside those that the service wants; looking makes none. */
export async function lookAtIndexes(url: string): Promise<Finding> {
  const { connectMongoDocuments } = await import('../../platform/stores/documents/mongodb.ts');
  const documents = await connectMongoDocuments(url);
  const held = await documents.collections().finally(() => documents.close());
  return judgeIndexes(COLLECTIONS, held);
}

/** Indexes that are missing or declared otherwise; a unique one is a law that nothing else keeps. */
export function judgeIndexes(wanted: readonly CollectionSpec[], held: readonly CollectionSpec[]): Finding {
  if (held.length === 0) return ok('MongoDB holds nothing yet: the first start makes its indexes.');
  const heldIndexes = new Map(held.flatMap((spec) => named(spec)));
  const all = wanted.flatMap((spec) => named(spec));
  const lacking = all.filter(
    ([name, index]) => declarationOf(heldIndexes.get(name)) !== declarationOf(index),
  );
  if (lacking.length === 0) return ok(`MongoDB has the ${all.length} indexes that the service reads by.`);
  const names = lacking.map(([name, { unique }]) => (unique ? `${name} (unique)` : name)).join(', ');
  const says = `MongoDB lacks indexes, or has them declared otherwise: ${names}.`;
  return lacking.some(([, { unique }]) => unique) ? problem(says, MEND) : warning(says, MEND);
}

function named({ name, indexes }: CollectionSpec): Array<readonly [name: string, index: IndexSpec]> {
  return indexes.map((index) => [`${name}.${index.name}`, index]);
}

/** The text of an index: two indexes with the same text are the same. */
function declarationOf(index: IndexSpec | undefined): string {
  if (index === undefined) return 'none';
  const { fields, unique = false, whenPresent = [] } = index;
  return JSON.stringify([fields, unique, whenPresent]);
}

import type { OpDefinition } from '../catalogue/schema.ts';

/** The kinds of ops by what a reader looks for. An op is of the first kind that holds it. */
const KINDS: readonly { title: string; holds: (definition: OpDefinition) => boolean }[] = [
  { title: 'Models', holds: ({ kind }) => kind === 'ai' },
  { title: 'Reading', holds: ({ produces }) => produces === 'json' },
  { title: 'Pictures', holds: () => true },
];

/** The ops by kind, those that everybody needs first. */
export function opsByKind(
  definitions: readonly OpDefinition[],
): { title: string; definitions: readonly OpDefinition[] }[] {
  const kindOf = (definition: OpDefinition) => KINDS.find(({ holds }) => holds(definition));
  return KINDS.toReversed().map((kind) => ({
    title: kind.title,
    definitions: definitions.filter((definition) => kindOf(definition) === kind),
  }));
}

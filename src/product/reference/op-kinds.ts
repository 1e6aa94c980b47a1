import type { OpDefinition } from '../catalogue/schema.ts';

/** The kinds of ops by what readers look for. An op belongs to the first kind that fits. */
const KINDS: readonly { title: string; holds: (definition: OpDefinition) => boolean }[] = [
  { title: 'Models', holds: ({ kind }) => kind === 'ai' },
  { title: 'Reading', holds: ({ produces }) => produces === 'json' },
  { title: 'Pictures', holds: () => true },
];

/** The ops by kind. Kinds that everybody needs come first. */
export function opsByKind(
  definitions: readonly OpDefinition[],
): { title: string; definitions: readonly OpDefinition[] }[] {
  const kindOf = (definition: OpDefinition) => KINDS.find(({ holds }) => holds(definition));
  return KINDS.toReversed().map((kind) => ({
    title: kind.title,
    definitions: definitions.filter((definition) => kindOf(definition) === kind),
  }));
}

export type Schema = Readonly<Record<string, unknown>>;

/**
 * Finds what a reference within a schema refers to: `#`, a pointer such as `#/$defs/name`, or an anchor such as
 * `#name`. The schema is searched for its anchors once, and each reference is followed once.
 */
export function targetsIn(root: Schema): (reference: string) => unknown {
  const schemas = schemasIn(root).reverse();
  const anchors = new Map(schemas.map((schema) => [schema.$anchor, schema]));
  const known = new Map<string, unknown>([['#', root]]);
  return (reference) => {
    if (!known.has(reference)) {
      const fragment = decoded(reference.slice(1));
      known.set(reference, fragment.startsWith('/') ? atPointer(root, fragment) : anchors.get(fragment));
    }
    return known.get(reference);
  };
}

function atPointer(root: Schema, pointer: string): unknown {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>((value, key) => (value as Schema | null | undefined)?.[key], root);
}

/** Every object within a schema, the schema itself first. Some of them are maps of schemas or plain values. */
export function schemasIn(root: Schema): Schema[] {
  const found: Schema[] = [];
  const open: object[] = [root];
  for (let part = open.pop(); part !== undefined; part = open.pop()) {
    if (!Array.isArray(part)) found.push(part as Schema);
    for (const below of Object.values(part))
      if (typeof below === 'object' && below !== null) open.push(below);
  }
  return found;
}

function decoded(fragment: string): string {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return fragment;
  }
}

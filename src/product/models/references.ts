type Schema = Readonly<Record<string, unknown>>;

/** The target of a reference within a schema: `#`, a pointer such as `#/$defs/name`, or an anchor such as `#name`. */
export function targetOf(root: Schema, reference: string): unknown {
  if (reference === '#') return root;
  const fragment = decoded(reference.slice(1));
  if (!fragment.startsWith('/')) return schemasIn(root).find(({ $anchor }) => $anchor === fragment);
  return fragment
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

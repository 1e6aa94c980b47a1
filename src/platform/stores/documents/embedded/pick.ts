/** The `_id` and the named fields (dotted; within a list, those of each element) of a document. */
export function pick(document: object, fields: readonly string[]): object {
  if (!fields.some((field) => field.includes('.'))) return pickNames(document, fields);
  return pickPaths(
    document,
    ['_id', ...fields].map((field) => field.split('.')),
  );
}

function pickNames(document: object, names: readonly string[]): object {
  const picked: Record<string, unknown> = {};
  // This keeps the order of the document.
  for (const name of Object.keys(document)) {
    if (name === '_id' || names.includes(name)) picked[name] = (document as Record<string, unknown>)[name];
  }
  return picked;
}

function pickPaths(value: object, paths: string[][]): object {
  const picked: Record<string, unknown> = {};
  for (const [name, ofName] of Object.entries(value)) {
    const rests = paths.filter((path) => path[0] === name).map((path) => path.slice(1));
    if (rests.some((rest) => rest.length === 0)) picked[name] = ofName;
    else if (Array.isArray(ofName) && rests.length > 0) {
      picked[name] = ofName.filter(isObject).map((element) => pickPaths(element, rests));
    } else if (isObject(ofName) && rests.length > 0) picked[name] = pickPaths(ofName, rests);
  }
  return picked;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

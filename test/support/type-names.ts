/** A type at the top of a file. */
const DECLARED_TYPE = /^(?:export )?(?:abstract )?(?:class|interface|type) (\w+)/gm;
/** Types of the interface, by the names of its schemas; written by `npm run client:types`. */
export const GENERATED_FILES = ['src/client/schema.ts', 'src/product/console/browser/operator-schema.ts'];
const OF_CLIENT = 'the client is a package of its own, which imports nothing of the service';
/** The types that two files may declare by one name, with the reason. Any other name means one thing everywhere. */
const DECLARED_TWICE: Readonly<Record<string, string>> = {
  Clock: OF_CLIENT,
};

/**
 * The types that several files declare by one name, a sentence each: a meaning has one type, and each meaning a name of
 * its own.
 * @param sources the texts of the files by their paths.
 */
export function repeatedTypes(sources: ReadonlyMap<string, string>): string[] {
  const declaredIn = new Map<string, Set<string>>();
  for (const [file, source] of sources)
    for (const [, name = ''] of GENERATED_FILES.includes(file) ? [] : source.matchAll(DECLARED_TYPE))
      declaredIn.set(name, (declaredIn.get(name) ?? new Set()).add(file));
  const repeated = [...declaredIn].filter(([, files]) => files.size > 1);
  const needless = Object.keys(DECLARED_TWICE).filter((name) => (declaredIn.get(name)?.size ?? 0) < 2);
  return [
    ...repeated
      .filter(([name]) => !(name in DECLARED_TWICE))
      .map(
        ([name, files]) =>
          `${[...files].join(' and ')} declare ${name}: declare one type, or give each meaning a name`,
      ),
    ...needless.map((name) => `DECLARED_TWICE names ${name}, which two files do not declare: remove it`),
  ];
}

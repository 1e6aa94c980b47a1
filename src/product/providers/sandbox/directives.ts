/** The directives for the sandbox in a prompt, for one item. */
interface Directives {
  rejects: boolean;
  fails: boolean;
  answersGarbage: boolean;
  waitMs: number;
  /** The prompt without the directives. */
  text: string;
}

const MAX_WAIT_MS = 60_000;
const DIRECTIVE = /\[sandbox:(reject|fail|wait|garbage)(?:@([\d,\s]+)|=(\d+))?\]/g;

/**
 * Parses the directives of a prompt: `[sandbox:reject]` and `[sandbox:fail]`, either with `@1,3` for the items of these
 * indexes only, `[sandbox:fail=2]` for the first 2 attempts of an item, `[sandbox:wait=MS]` and `[sandbox:garbage]`.
 */
export function directivesIn(prompt: string, itemIndex: number, attempt: number): Directives {
  const directives: Directives = {
    rejects: false,
    fails: false,
    answersGarbage: false,
    waitMs: 0,
    text: prompt.replace(DIRECTIVE, ' ').replace(/\s+/g, ' ').trim(),
  };
  for (const [, directive, indexes, number] of prompt.matchAll(DIRECTIVE)) {
    const concerned = indexes === undefined || indexes.split(',').map(Number).includes(itemIndex);
    if (directive === 'reject') directives.rejects ||= concerned;
    else if (directive === 'garbage') directives.answersGarbage ||= concerned;
    else if (directive === 'wait') directives.waitMs = Math.min(Number(number ?? 0), MAX_WAIT_MS);
    else directives.fails ||= concerned && (number === undefined || attempt <= Number(number));
  }
  return directives;
}

/** The directives for the sandbox in a prompt, for one item. */
interface Steering {
  rejects: boolean;
  fails: boolean;
  answersGarbage: boolean;
  waitMs: number;
  /** The prompt without the directives. */
  text: string;
}

const LONGEST_WAIT_MS = 60_000;
const WORD = /\[sandbox:(reject|fail|wait|garbage)(?:@([\d,\s]+)|=(\d+))?\]/g;

/**
 * Parses the directives of a prompt: `[sandbox:reject]` and `[sandbox:fail]`, either with `@1,3` for the items of these
 * indexes only, `[sandbox:fail=2]` for the first 2 attempts of an item, `[sandbox:wait=MS]` and `[sandbox:garbage]`.
 */
export function steeringOf(prompt: string, itemIndex: number, attempt: number): Steering {
  const steering: Steering = {
    rejects: false,
    fails: false,
    answersGarbage: false,
    waitMs: 0,
    text: prompt.replace(WORD, ' ').replace(/\s+/g, ' ').trim(),
  };
  for (const [, word, indexes, number] of prompt.matchAll(WORD)) {
    const concerned = indexes === undefined || indexes.split(',').map(Number).includes(itemIndex);
    if (word === 'reject') steering.rejects ||= concerned;
    else if (word === 'garbage') steering.answersGarbage ||= concerned;
    else if (word === 'wait') steering.waitMs = Math.min(Number(number ?? 0), LONGEST_WAIT_MS);
    else steering.fails ||= concerned && (number === undefined || attempt <= Number(number));
  }
  return steering;
}

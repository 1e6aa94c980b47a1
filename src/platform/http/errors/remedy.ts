import { truncatedJson } from '../../values/json.ts';

/** A remedy for a wrong value: a sentence, and the value that was certainly meant, or the words to choose from. */
export interface Remedy {
  says: string;
  replace?: unknown;
  /** Present if the value stands for no value. The field is then left out. */
  remove?: true;
  /** A share of a side of the picture, 0 to 1, that was sent where pixels are expected. */
  share?: number;
  suggest?: (string | number)[];
  /** The value that was probably meant, if it is neither a word nor a number. */
  instead?: unknown;
}

/** The remedy that lists words or numbers, one of which was probably meant. Without any, its sentence is empty. */
export function suggestionRemedy(words: (string | number)[]): Remedy {
  return words.length === 0 ? { says: '' } : { says: ` Did you mean ${words.join(' or ')}?`, suggest: words };
}

/** Matches two numbers with a separator, such as `16:9`, `300x200` or `0..9`. */
export const TWO_NUMBERS_PATTERN = /^\s*(\d+)\s*([x×/:-]|\.{2,3})\s*(\d+)\s*$/i;

const MAX_EXCERPT_CHARACTERS = 60;

/** The beginning of a value as JSON. The rest is not written, because a body may have megabytes. */
export function excerptOf(value: unknown): string {
  const text = truncatedJson(value, MAX_EXCERPT_CHARACTERS + 1);
  return text.length <= MAX_EXCERPT_CHARACTERS ? text : `${text.slice(0, MAX_EXCERPT_CHARACTERS)}…`;
}

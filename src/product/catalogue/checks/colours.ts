import { CSS_COLOUR_NAMES, parseCssColour } from '../../../../workers/image/colour/colour.ts';
import { likelyNames, meantWordHint } from '../../../platform/ids/nearest.ts';
import { isJsonObject } from '../../../platform/values/json.ts';

/**
 * What an invalid value probably means: a sentence for the end of the message, and the right value if it is certain, or
 * else similar words.
 */
export interface ValueHint {
  says: string;
  replace?: string;
  suggest?: string[];
}

/** The end of the message about an empty colour. In a URL, an unescaped # begins the fragment, which is not sent. */
export const CUT_BY_FRAGMENT_HINT =
  ' An unescaped # ends a URL, and neither it nor what follows is sent: write # as %23, as in %23ff8800.';

/** The minimum length of a colour name that is searched for within a longer word, such as red in reddish. */
const MIN_COLOUR_CHARACTERS = 3;
/** How many characters of a text are searched for colours. */
const MAX_CHARACTERS_SEARCHED_FOR_COLOUR = 100;

/** Finds the colour that was probably meant by a value which is not a CSS colour. */
export function colourHint(value: unknown): ValueHint {
  if (value === '') return { says: CUT_BY_FRAGMENT_HINT };
  const replace = colourSpellingsOf(value).find((text) => parseCssColour(text) !== undefined);
  if (replace !== undefined) return { says: meantWordHint([replace]), replace };
  if (typeof value !== 'string') return { says: '' };
  const word = value
    .slice(0, MAX_CHARACTERS_SEARCHED_FOR_COLOUR)
    .toLowerCase()
    .replaceAll(/[^a-z]/g, '');
  const within = CSS_COLOUR_NAMES.filter(
    (name) => name.length >= MIN_COLOUR_CHARACTERS && word.includes(name),
  );
  const suggest = within.length > 0 ? within : likelyNames(word, CSS_COLOUR_NAMES);
  return suggest.length === 0 ? { says: '' } : { says: meantWordHint(suggest), suggest };
}

/**
 * Rewrites a value as CSS text that may be valid: colours with an encoded #, with 0x, without a function, or as a list
 * or an object of numbers.
 */
function colourSpellingsOf(value: unknown): string[] {
  if (Array.isArray(value) && [3, 4].includes(value.length)) return [`rgb(${value.join(', ')})`];
  if (isJsonObject(value) && ['r', 'g', 'b'].every((name) => name in value))
    return [`rgb(${[value.r, value.g, value.b, value.a ?? value.alpha ?? 1].join(', ')})`];
  if (typeof value !== 'string' || value.length > MAX_CHARACTERS_SEARCHED_FOR_COLOUR) return [];
  const bare = value
    .trim()
    .toLowerCase()
    .replace(/^%23/, '#')
    .replace(/^(0x|#0x|x)/, '#');
  return [bare, bare.replaceAll(/["']/g, ''), `rgb(${bare})`];
}

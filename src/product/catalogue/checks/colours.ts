import { CSS_COLOUR_NAMES, parseCssColour } from '../../../../workers/image/colour/colour.ts';
import { likelyNames, meantWordHint } from '../../../platform/ids/nearest.ts';
import { isJsonObject } from '../../../platform/values/json.ts';

/** The probable meaning of an invalid value: the end of a message, and the value if it is certain, or likely words. */
export interface ValueHint {
  says: string;
  replace?: string;
  suggest?: string[];
}

/** What cut a value that arrives empty in a URL. */
export const CUT_BY_FRAGMENT =
  ' An unescaped # ends a URL, and neither it nor what follows is sent: write # as %23, as in %23ff8800.';

/** The length from which a colour name is found within a longer word, such as red in reddish. */
const MIN_COLOUR_CHARACTERS = 3;
/** The beginning of a text that is searched for colours. */
const MAX_SEARCHED_CHARACTERS = 100;

/** The colour that was probably meant by a value that is no CSS colour. */
export function colourHint(value: unknown): ValueHint {
  if (value === '') return { says: CUT_BY_FRAGMENT };
  const replace = spellingsOf(value).find((text) => parseCssColour(text) !== undefined);
  if (replace !== undefined) return { says: meantWordHint([replace]), replace };
  if (typeof value !== 'string') return { says: '' };
  const word = value
    .slice(0, MAX_SEARCHED_CHARACTERS)
    .toLowerCase()
    .replaceAll(/[^a-z]/g, '');
  const within = CSS_COLOUR_NAMES.filter(
    (name) => name.length >= MIN_COLOUR_CHARACTERS && word.includes(name),
  );
  const suggest = within.length > 0 ? within : likelyNames(word, CSS_COLOUR_NAMES);
  return suggest.length === 0 ? { says: '' } : { says: meantWordHint(suggest), suggest };
}

/** How CSS writes a colour that is encoded twice, begins with 0x, or is three or four numbers. */
function spellingsOf(value: unknown): string[] {
  if (Array.isArray(value) && [3, 4].includes(value.length)) return [`rgb(${value.join(', ')})`];
  if (isJsonObject(value) && ['r', 'g', 'b'].every((name) => name in value))
    return [`rgb(${[value.r, value.g, value.b, value.a ?? value.alpha ?? 1].join(', ')})`];
  if (typeof value !== 'string' || value.length > MAX_SEARCHED_CHARACTERS) return [];
  const bare = value
    .trim()
    .toLowerCase()
    .replace(/^%23/, '#')
    .replace(/^(0x|#0x|x)/, '#');
  return [bare, bare.replaceAll(/["']/g, ''), `rgb(${bare})`];
}

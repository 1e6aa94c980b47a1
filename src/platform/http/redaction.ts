import { decodePercentEncoding } from '../values/percent-encoding.ts';

const REDACTED_TEXT = '[redacted]';
/**
 * Matches the names of query fields whose values are secrets: those of signed links, and those that callers send by
 * mistake.
 */
const SECRET_FIELD_PATTERN =
  /signature|token|secret|passw|passphrase|pwd|credential|authorization|bearer|cookie|jwt|(?:api|access|private|signing|subscription)[-_]?key$|^(?:key|auth|sig|pass)$/i;
/**
 * Matches the secrets that this service issues, also in a path that encodes their underscore. Its ids are too short to
 * match.
 */
const OWN_SECRET_PATTERN =
  /(?:drk|ses|lnk|ops|opl)(?:_|%5f)[0-9a-z]{32,}|whsec(?:_|%5f)[0-9a-z+/=%_-]{32,}/gi;
/**
 * Matches a URL in a text, in four parts: the scheme, the user and password, the host with the path, and the query. The
 * length of the scheme is limited, because matching a long word would otherwise take quadratic time.
 */
const URL_PATTERN = /([a-z][a-z0-9+.-]{0,30}:\/\/)([^\s"'<>\\/?#@]*@)?([^\s"'<>\\?#]*)(\?[^\s"'<>\\#]*)?/gi;
const MAX_PATH_CHARACTERS = 2_000;

/** A path with its query. The values of secret fields are removed, and so are secrets in other values. */
export function pathWithoutSecrets(path: string): string {
  const start = path.indexOf('?');
  if (start === -1) return truncatedCopy(path.replaceAll(OWN_SECRET_PATTERN, REDACTED_TEXT), path.length);
  const fields = path.slice(start + 1).split('&');
  const shown = `${path.slice(0, start)}?${fields.map(fieldWithoutSecret).join('&')}`;
  return truncatedCopy(shown.replaceAll(OWN_SECRET_PATTERN, REDACTED_TEXT), path.length);
}

/**
 * A text without secrets of this service. In URLs, users, passwords and queries are removed, because a query may
 * contain a signature.
 */
export function textWithoutSecrets(text: string): string {
  return withoutUrlSecrets(text.replaceAll(OWN_SECRET_PATTERN, REDACTED_TEXT));
}

function withoutUrlSecrets(text: string): string {
  if (!text.includes('://')) return text;
  return text.replaceAll(
    URL_PATTERN,
    (_, scheme: string, user: string | undefined, place: string, query: string | undefined) =>
      `${scheme}${user === undefined ? '' : `${REDACTED_TEXT}@`}${place}${query === undefined ? '' : `?${REDACTED_TEXT}`}`,
  );
}

function fieldWithoutSecret(field: string): string {
  const [name = '', ...rest] = field.split('=');
  if (SECRET_FIELD_PATTERN.test(decodePercentEncoding(name) ?? name)) return `${name}=${REDACTED_TEXT}`;
  const value = rest.join('=');
  if (!/:\/\/|%3a/i.test(value)) return field;
  const withSpaces = value.replaceAll('+', ' ');
  const text = decodePercentEncoding(withSpaces) ?? withSpaces;
  const shown = withoutUrlSecrets(text);
  return shown === text ? field : `${name}=${encodeURIComponent(shown)}`;
}

/**
 * A text, shortened to MAX_PATH_CHARACTERS. If the sent text was longer, the result is a copy, because a slice would
 * keep the whole sent text in memory.
 * @param sentCharacters the length of the text as it was sent.
 */
function truncatedCopy(text: string, sentCharacters: number): string {
  if (sentCharacters <= MAX_PATH_CHARACTERS) return text;
  const kept = text.length > MAX_PATH_CHARACTERS ? `${text.slice(0, MAX_PATH_CHARACTERS)}…` : text;
  return Buffer.from(kept).toString();
}

const HIDDEN = '[redacted]';
/** Names of query fields whose values are secrets: those of signed links, and what callers send by mistake. */
const SECRET_NAME =
  /signature|token|secret|passw|passphrase|pwd|credential|authorization|bearer|cookie|jwt|(?:api|access|private|signing|subscription)[-_]?key$|^(?:key|auth|sig|pass)$/i;
/** Matches the secrets that this service issues. Its ids are shorter. */
const OWN_SECRET = /(?:drk|ses|lnk|ops|opl)_[0-9A-Za-z]{32,}|whsec_[0-9A-Za-z+/=%_-]{32,}/g;
/**
 * Matches an address within text: its scheme, the user and password before the host, its host and path, its query. The
 * length of the scheme is limited, because a long word would otherwise be searched from each of its characters.
 */
const ADDRESS = /([a-z][a-z0-9+.-]{0,30}:\/\/)([^\s"'<>\\/?#@]*@)?([^\s"'<>\\?#]*)(\?[^\s"'<>\\#]*)?/gi;
const MAX_PATH_CHARACTERS = 2_000;

/** A path with its query, without the values of secret fields and without secrets in other values. */
export function pathWithoutSecrets(path: string): string {
  const start = path.indexOf('?');
  if (start === -1) return shortened(path.replaceAll(OWN_SECRET, HIDDEN), path.length);
  const fields = path.slice(start + 1).split('&');
  const shown = `${path.slice(0, start)}?${fields.map(withoutSecret).join('&')}`;
  return shortened(shown.replaceAll(OWN_SECRET, HIDDEN), path.length);
}

/**
 * Text without secrets of this service, and without the users, passwords and queries of addresses in it, because a
 * query may contain a signature.
 */
export function textWithoutSecrets(text: string): string {
  return withoutSecretsOfAddresses(text.replaceAll(OWN_SECRET, HIDDEN));
}

function withoutSecretsOfAddresses(text: string): string {
  if (!text.includes('://')) return text;
  return text.replaceAll(
    ADDRESS,
    (_, scheme: string, user: string | undefined, place: string, query: string | undefined) =>
      `${scheme}${user === undefined ? '' : `${HIDDEN}@`}${place}${query === undefined ? '' : `?${HIDDEN}`}`,
  );
}

function withoutSecret(field: string): string {
  const [name = '', ...rest] = field.split('=');
  if (SECRET_NAME.test(decoded(name))) return `${name}=${HIDDEN}`;
  const value = rest.join('=');
  if (!/:\/\/|%3a/i.test(value)) return field;
  const text = decoded(value.replaceAll('+', ' '));
  const shown = withoutSecretsOfAddresses(text);
  return shown === text ? field : `${name}=${encodeURIComponent(shown)}`;
}

/** Text with its percent-encoding decoded; unchanged if the encoding is malformed. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * The beginning of a text. It is copied, because a part of a text would otherwise keep the whole text in memory.
 * @param sentCharacters the length of the text from which it was made.
 */
function shortened(text: string, sentCharacters: number): string {
  if (sentCharacters <= MAX_PATH_CHARACTERS) return text;
  const kept = text.length > MAX_PATH_CHARACTERS ? `${text.slice(0, MAX_PATH_CHARACTERS)}…` : text;
  return Buffer.from(kept).toString();
}

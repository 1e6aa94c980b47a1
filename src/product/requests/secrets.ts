const HIDDEN = '[redacted]';
/** Names of query fields whose values are secrets: those of signed links, and what callers send by mistake. */
const SECRET_NAME =
  /signature|token|secret|passw|passphrase|pwd|credential|authorization|bearer|cookie|jwt|(?:api|access|private|signing|subscription)[-_]?key$|^(?:key|auth|sig|pass)$/i;
/** The secrets that this service issues; its ids are shorter. */
const OWN_SECRET = /(?:drk|ses|lnk|ops|opl)_[0-9A-Za-z]{32,}|whsec_[0-9A-Za-z+/=%_-]{32,}/g;
/**
 * An address within a text: its scheme, the user and password before the host, its host and path, its query. The scheme
 * is bounded, because a long word would otherwise be read from each of its characters to its end.
 */
const ADDRESS = /([a-z][a-z0-9+.-]{0,30}:\/\/)([^\s"'<>\\/?#@]*@)?([^\s"'<>\\?#]*)(\?[^\s"'<>\\#]*)?/gi;
const MAX_PATH_CHARACTERS = 2_000;

/** A path with its query, without the values of secret fields and without the secrets in the others. */
export function pathWithoutSecrets(path: string): string {
  const start = path.indexOf('?');
  if (start === -1) return shortened(path.replaceAll(OWN_SECRET, HIDDEN), path.length);
  const fields = path.slice(start + 1).split('&');
  const shown = `${path.slice(0, start)}?${fields.map(withoutSecret).join('&')}`;
  return shortened(shown.replaceAll(OWN_SECRET, HIDDEN), path.length);
}

/**
 * A text without the secrets of this service, and without the users, passwords and queries of the addresses in it: a
 * query may sign its address.
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

/** A text without its percent-encoding; as it is if the encoding is broken. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * The beginning of a text. What is left of a long one is copied: a part of a text otherwise keeps the whole in memory.
 * @param sentCharacters the length of what it was made from.
 */
function shortened(text: string, sentCharacters: number): string {
  if (sentCharacters <= MAX_PATH_CHARACTERS) return text;
  const kept = text.length > MAX_PATH_CHARACTERS ? `${text.slice(0, MAX_PATH_CHARACTERS)}…` : text;
  return Buffer.from(kept).toString();
}

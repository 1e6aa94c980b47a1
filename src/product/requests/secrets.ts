const HIDDEN = '[redacted]';
/** Names of query fields whose values are secrets: those of signed links, and what callers send by mistake. */
const SECRET_NAME =
  /signature|token|secret|password|passwd|credential|authorization|api-?_?key|^key$|^auth$/i;
/** An address within a text: its scheme, the user and password before the host, its host and path, its query. */
const ADDRESS = /([a-z][a-z0-9+.-]*:\/\/)([^\s"'<>\\/?#@]*@)?([^\s"'<>\\?#]*)(\?[^\s"'<>\\#]*)?/gi;
const MAX_PATH_CHARACTERS = 2_000;

/** A path with its query, without the values of secret fields and without the secrets of addresses in the others. */
export function withoutSecrets(path: string): string {
  const start = path.indexOf('?');
  if (start === -1) return shortened(path);
  const fields = path.slice(start + 1).split('&');
  return shortened(`${path.slice(0, start)}?${fields.map(withoutSecret).join('&')}`);
}

/** A text without the users, passwords and queries of the addresses in it: a query may sign its address. */
export function withoutSecretsOfAddresses(text: string): string {
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

function shortened(text: string): string {
  return text.length > MAX_PATH_CHARACTERS ? `${text.slice(0, MAX_PATH_CHARACTERS)}…` : text;
}

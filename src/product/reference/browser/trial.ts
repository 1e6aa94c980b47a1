/** What the page shows of the response to a call. */
interface TrialResult {
  status: string;
  body: HTMLElement;
  timing: string;
}

interface CaptionedPicture {
  label: string;
  bytes: Blob;
}

/** Enables the forms in which a reader makes calls with their own key and picture. */
export function enableTrialForms(): void {
  for (const form of document.querySelectorAll<HTMLFormElement>('form.trial')) {
    form.hidden = false;
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      void sendForm(form);
    });
  }
}

async function sendForm(form: HTMLFormElement): Promise<void> {
  const button = form.querySelector<HTMLButtonElement>('[type="submit"]');
  const result = form.querySelector<HTMLElement>('.result');
  if (button === null || result === null) return;
  button.disabled = true;
  try {
    showResult(result, await sendCall(form));
  } catch (error) {
    result.replaceChildren(paragraph('status', `The call did not arrive: ${(error as Error).message}`));
  } finally {
    button.disabled = false;
  }
}

async function sendCall(form: HTMLFormElement): Promise<TrialResult> {
  const { path = '', sends } = form.dataset;
  const headers = new Headers();
  const key = readKey(form);
  if (key !== '') headers.set('authorization', `ApiKey ${key}`);
  if (sends === 'call') return callEndpoint(form, headers);
  const url = new URL(path, location.origin);
  if (sends === 'job') return callJob(form, url, headers);
  if (sends === 'json') {
    headers.set('content-type', 'application/json');
    return readResponse(
      await fetch(url, { method: 'POST', headers, body: JSON.stringify(inputValuesOf(filledInputs(form))) }),
      [],
    );
  }
  for (const [name, value] of queryOf(form)) url.searchParams.set(name, value);
  const file = readFile(form);
  headers.set('content-type', file.type);
  const response = await fetch(url, { method: 'POST', headers, body: file });
  return readResponse(response, [{ label: 'Before', bytes: file }]);
}

/** Makes a call. Its path and its query contain the values from the form. */
async function callEndpoint(form: HTMLFormElement, headers: Headers): Promise<TrialResult> {
  const { path = '', method = 'GET' } = form.dataset;
  const query = queryOf(form);
  const filledPath = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = query.get(name) ?? '';
    query.delete(name);
    return encodeURIComponent(value);
  });
  const url = new URL(filledPath, location.origin);
  url.search = query.toString();
  const body = requestBodyOf(form);
  if (typeof body === 'string') headers.set('content-type', 'application/json');
  if (body instanceof File) headers.set('content-type', body.type);
  return readResponse(await fetch(url, { method, headers, ...(body !== null && { body }) }), []);
}

/** The body of a call: JSON as text, a file, or a multipart form with files. */
function requestBodyOf(form: HTMLFormElement): string | File | FormData | null {
  const json = form.querySelector<HTMLTextAreaElement>('[name="json"]');
  if (json !== null) return json.value;
  const files = [...form.querySelectorAll<HTMLInputElement>('[type="file"]')];
  if (files.length === 0) return null;
  if (form.dataset.form === undefined) return readFile(form);
  const body = new FormData();
  for (const { name, files: chosen } of files) if (chosen?.[0] !== undefined) body.append(name, chosen[0]);
  return body;
}

/** Uploads the file, runs a job over it, and shows its result. If the result is not a picture, the job is shown. */
async function callJob(form: HTMLFormElement, url: URL, headers: Headers): Promise<TrialResult> {
  const needsFile = form.querySelector('[name="file"]') !== null;
  const sentPictures = needsFile ? [{ label: 'Before', bytes: readFile(form) }] : [];
  const assetIds: string[] = [];
  for (const { bytes } of sentPictures) {
    const upload = { method: 'POST', headers: withContentType(headers, bytes.type), body: bytes };
    const uploaded = await fetch('/api/v1/assets/upload', upload);
    if (!uploaded.ok) return readResponse(uploaded, []);
    assetIds.push((await uploaded.json()).data.id);
  }
  const job = { op: form.dataset.op, ...(needsFile && { assetIds }), ...jobFieldsOf(form) };
  const sent = {
    method: 'POST',
    headers: withContentType(headers, 'application/json'),
    body: JSON.stringify(job),
  };
  const response = await fetch(url, sent);
  const resultId = (await response.clone().json()).data?.items?.[0]?.resultAssetId;
  if (resultId === undefined) return readResponse(response, []);
  return readResponse(await fetch(`/api/v1/assets/${resultId}/content`, { headers }), sentPictures);
}

function withContentType(headers: Headers, type: string): Headers {
  const copy = new Headers(headers);
  copy.set('content-type', type);
  return copy;
}

/**
 * Returns the file that the reader chose.
 * @throws Error if none was chosen.
 */
function readFile(form: HTMLFormElement): File {
  const file = form.querySelector<HTMLInputElement>('[name="file"]')?.files?.[0];
  if (file === undefined) throw new Error('choose a file');
  return file;
}

/** The key that was entered, without an authorization scheme that was pasted along with it. */
function readKey(form: HTMLFormElement): string {
  const typed = form.querySelector<HTMLInputElement>('[name="key"]')?.value ?? '';
  return typed.trim().replace(/^\w+ +/, '');
}

/** The inputs of the form that have a value. */
function filledInputs(form: HTMLFormElement): HTMLInputElement[] {
  const inputs = form.querySelectorAll<HTMLInputElement>('[data-parameter]');
  return [...inputs].filter(({ value }) => value !== '');
}

function queryOf(form: HTMLFormElement): URLSearchParams {
  return new URLSearchParams(
    filledInputs(form).map(({ dataset, value }) => [dataset.parameter ?? '', value]),
  );
}

/** The values of inputs by name. Invalid JSON is sent as text, because the API's response explains what is wrong. */
function inputValuesOf(inputs: readonly HTMLInputElement[]): Record<string, unknown> {
  const values = inputs.map(({ dataset, value }) => [
    dataset.parameter,
    dataset.json === undefined ? value : parseJsonOrText(value),
  ]);
  return Object.fromEntries(values);
}

/** The fields of a job other than its op and its assets. */
function jobFieldsOf(form: HTMLFormElement): Record<string, unknown> {
  const isField = ({ dataset }: HTMLInputElement) => dataset.field !== undefined;
  const inputs = filledInputs(form);
  const parameters = inputValuesOf(inputs.filter((input) => !isField(input)));
  return { ...inputValuesOf(inputs.filter(isField)), parameters };
}

function parseJsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/**
 * Reads a response for display.
 * @param sentPictures the pictures that were sent; they are shown beside the result.
 */
async function readResponse(
  response: Response,
  sentPictures: readonly CaptionedPicture[],
): Promise<TrialResult> {
  const { headers } = response;
  const timing = headers.get('server-timing') ?? '';
  const type = headers.get('content-type') ?? '';
  if (!type.startsWith('image/')) {
    const isText = type === '' || type.includes('json') || type.startsWith('text/');
    const text = isText ? await response.text() : `${(await response.blob()).size} bytes of ${type}`;
    const body = document.createElement('pre');
    body.tabIndex = 0;
    body.textContent = type.includes('json') ? JSON.stringify(JSON.parse(text), null, 2) : text;
    return { status: `${response.status}`, body, timing };
  }
  const bytes = await response.blob();
  const [width, height] = [headers.get('x-service-width'), headers.get('x-service-height')];
  const size = `${width} × ${height} px, ${(bytes.size / 1_000).toFixed(1)} kB of ${type.slice('image/'.length)}`;
  const warnings = headers.get('x-service-warnings');
  const status = warnings === null ? size : `${size}; warnings: ${warnings}`;
  const body = document.createElement('div');
  body.className = 'pictures';
  body.append(...[...sentPictures, { label: 'After', bytes }].map(pictureFigure));
  return { status: `${response.status}: ${status}`, body, timing };
}

function pictureFigure({ label, bytes }: CaptionedPicture): HTMLElement {
  const element = document.createElement('figure');
  const picture = document.createElement('img');
  const caption = document.createElement('figcaption');
  picture.alt = label;
  picture.src = URL.createObjectURL(bytes);
  picture.addEventListener('load', () => URL.revokeObjectURL(picture.src), { once: true });
  caption.textContent = label;
  element.append(picture, caption);
  return element;
}

function showResult(result: HTMLElement, { status, body, timing }: TrialResult): void {
  result.replaceChildren(paragraph('status', status), body, timingList(timing));
}

/** The durations in the header Server-Timing, as a list of bars. The longest duration has the longest bar. */
function timingList(header: string): HTMLElement {
  const list = document.createElement('ul');
  list.className = 'timing';
  const parts = [...header.matchAll(/([\w-]+);dur=([\d.]+)/g)].map(([, name = '', ms]) => ({
    name,
    ms: Number(ms),
  }));
  const longest = Math.max(...parts.map(({ ms }) => ms), 1);
  for (const { name, ms } of parts) {
    const item = document.createElement('li');
    const bar = document.createElement('i');
    const figure = document.createElement('b');
    bar.style.width = `${(ms / longest) * 100}%`;
    figure.textContent = `${ms.toFixed(1)} ms`;
    item.append(name, bar, figure);
    list.append(item);
  }
  return list;
}

function paragraph(className: string, text: string): HTMLElement {
  const element = document.createElement('p');
  element.className = className;
  element.textContent = text;
  return element;
}

/** A page of documentation as data. markdown.ts and html.ts convert it to their formats. */
export interface DocumentationPage {
  title: string;
  /** The subject of the page, in one sentence. */
  lead: string;
  blocks: readonly PageBlock[];
}

/** A link to another page of the documentation, by its path without `.md`, or to any other address. */
interface PageLink {
  text: string;
  to: string;
}

/** Text and links in order. Text may contain code between backticks, and no other markup. */
export type Prose = readonly (string | PageLink)[];

export type PageBlock =
  | HeadingBlock
  | { kind: 'paragraph'; text: Prose }
  | ListBlock
  | TableBlock
  | FieldsBlock
  | SamplesBlock
  | PagePictures
  | CardsBlock
  | TryItForm;

interface HeadingBlock {
  kind: 'heading';
  level: 2 | 3;
  text: string;
}

interface ListBlock {
  kind: 'list';
  isNumbered: boolean;
  items: readonly Prose[];
}

interface TableBlock {
  kind: 'table';
  head: readonly string[];
  rows: readonly (readonly Prose[])[];
}

/** The fields that a call takes or returns, one row per field. */
export interface FieldsBlock {
  kind: 'fields';
  /** The heading under which the fields are collapsed in HTML, for fields that many pages repeat. */
  summary?: string;
  fields: readonly DocumentedField[];
}

export interface DocumentedField {
  name: string;
  /** The type of the field with its bounds, or its values, in a few words. */
  takes: string;
  /** A note on where the field is sent, and on whether it is required. */
  note?: string;
  /** The default value; absent if there is none. */
  fallback?: string;
  description: string;
}

/** One sample in several languages. Readers of HTML see one language at a time. */
export interface SamplesBlock {
  kind: 'samples';
  samples: readonly PageSample[];
}

export interface PageSample {
  label: string;
  language: 'sh' | 'ts' | 'js' | 'python' | 'php' | 'go' | 'ruby' | 'nginx' | 'json' | 'html';
  code: string;
}

export interface PagePictures {
  kind: 'pictures';
  pictures: readonly PagePicture[];
}

export interface PagePicture {
  /** The words under the picture, such as `Before`. */
  label: string;
  address: string;
  /** A description of the picture, for those who do not see it. */
  alt: string;
}

/** Links as cards, each with a sentence. */
export interface CardsBlock {
  kind: 'cards';
  cards: readonly { title: string; text: string; to: string; picture?: PagePicture }[];
}

/** A form that makes the call from the page, with the reader's own key. Markdown leaves it out. */
export interface TryItForm {
  kind: 'trial';
  path: string;
  /**
   * The kind of the call. `file`: the body is a file that the reader chooses. `json`: the body is the fields as JSON.
   * `op`: a file is uploaded, and a job of this op runs on it. A `TrialEndpointCall`: the fields are in the path, such
   * as `/jobs/{jobId}`, and in the query.
   */
  sends: 'file' | 'json' | { op: string; needsFile: boolean } | TrialEndpointCall;
  inputs: readonly TrialInput[];
}

/** A call of any endpoint that the other kinds do not cover. */
export interface TrialEndpointCall {
  method: string;
  needsKey: boolean;
  /** The body: JSON that begins with this text, a file of the reader, or a form with files of these names. */
  body?: { json: string } | 'file' | { files: readonly string[] };
}

export interface TrialInput {
  name: string;
  /** The initial value. An empty one leaves the parameter out. */
  value: string;
  /** The values to choose from; absent if any value can be typed. */
  choices?: readonly string[];
  /** Whether the value is sent as JSON in a body, instead of as text. */
  isJson: boolean;
  /** Whether the value is a field of the job itself, and not one of its parameters. */
  isField?: boolean;
  isRequired?: boolean;
}

export function headingBlock(text: string, level: 2 | 3 = 2): PageBlock {
  return { kind: 'heading', level, text };
}

export function paragraphBlock(...text: Prose): PageBlock {
  return { kind: 'paragraph', text };
}

export function listBlock(...items: readonly (Prose | string)[]): PageBlock {
  return { kind: 'list', isNumbered: false, items: items.map((item) => [item].flat()) };
}

export function numberedListBlock(...items: readonly (Prose | string)[]): PageBlock {
  return { kind: 'list', isNumbered: true, items: items.map((item) => [item].flat()) };
}

export function tableBlock(head: readonly string[], rows: readonly (readonly Prose[])[]): PageBlock {
  return { kind: 'table', head, rows };
}

export function fieldsBlock(fields: readonly DocumentedField[]): PageBlock {
  return { kind: 'fields', fields };
}

export function samplesBlock(...given: readonly PageSample[]): PageBlock {
  return { kind: 'samples', samples: given };
}

/** One command, or several lines of a shell. */
export function shellSampleBlock(code: string): PageBlock {
  return samplesBlock({ label: 'Shell', language: 'sh', code });
}

export function jsonSampleBlock(label: string, value: unknown): PageBlock {
  return samplesBlock({ label, language: 'json', code: JSON.stringify(value, null, 2) });
}

export function pageLink(text: string, to: string): PageLink {
  return { text, to };
}

/** The names of the languages, as shown on tabs. */
export const LANGUAGE_LABELS: Readonly<Record<PageSample['language'], string>> = {
  sh: 'Shell',
  ts: 'TypeScript',
  js: 'JavaScript',
  python: 'Python',
  php: 'PHP',
  go: 'Go',
  ruby: 'Ruby',
  nginx: 'nginx',
  json: 'JSON',
  html: 'HTML',
};

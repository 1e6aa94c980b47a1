import { escapeHtmlText, highlightedHtml } from './highlight.ts';
import type {
  CardsBlock,
  DocumentationPage,
  DocumentedField,
  FieldsBlock,
  PageBlock,
  PagePicture,
  Prose,
  SamplesBlock,
  TrialInput,
  TryItForm,
} from './page.ts';

/** The blocks that are placed to the right of the text before them on a wide screen. */
const SIDE_BLOCK_KINDS: readonly PageBlock['kind'][] = ['samples', 'pictures'];

/** A page as an article of HTML, without scripts and styles. */
export function pageHtml({ title, lead, blocks }: DocumentationPage): string {
  const text = [
    `<h1>${inlineHtml(title)}</h1>`,
    ...(lead === '' ? [] : [`<p class="lead">${inlineHtml(lead)}</p>`]),
  ];
  return `<article>${renderRows(blocks, text)}</article>`;
}

/**
 * Rows of text, each with the blocks that are shown next to it. The order is that of the page, so that a narrow screen
 * shows the same order. A second-level heading begins a row.
 */
function renderRows(blocks: readonly PageBlock[], start: string[]): string {
  const rows: { text: string[]; beside: string[] }[] = [{ text: start, beside: [] }];
  let group = 0;
  for (const block of blocks) {
    if (block.kind === 'samples') group += 1;
    const html = blockHtml(block, group);
    const last = rows.at(-1);
    if (SIDE_BLOCK_KINDS.includes(block.kind)) last?.beside.push(html);
    else if (last === undefined || last.beside.length > 0 || (block.kind === 'heading' && block.level === 2))
      rows.push({ text: [html], beside: [] });
    else last.text.push(html);
  }
  return rows.map(rowHtml).join('');
}

function rowHtml({ text, beside }: { text: string[]; beside: string[] }): string {
  if (beside.length === 0) return `<div class="row full">${text.join('')}</div>`;
  return `<div class="row"><div class="text">${text.join('')}</div><div class="beside">${beside.join('')}</div></div>`;
}

/** @param group the number of a block of samples on its page, which distinguishes its radio buttons from others. */
function blockHtml(block: PageBlock, group: number): string {
  switch (block.kind) {
    case 'heading': {
      const anchor = headingAnchor(block.text);
      return `<h${block.level} id="${anchor}"><a href="#${anchor}">${inlineHtml(block.text)}</a></h${block.level}>`;
    }
    case 'paragraph':
      return `<p>${proseHtml(block.text)}</p>`;
    case 'list': {
      const tag = block.isNumbered ? 'ol' : 'ul';
      return `<${tag}>${block.items.map((item) => `<li>${proseHtml(item)}</li>`).join('')}</${tag}>`;
    }
    case 'table':
      return tableHtml(block.head, block.rows);
    case 'fields':
      return fieldsHtml(block);
    case 'samples':
      return samplesHtml(block, group);
    case 'pictures':
      return `<div class="pictures">${block.pictures.map(pictureHtml).join('')}</div>`;
    case 'cards':
      return cardsHtml(block);
    case 'trial':
      return trialHtml(block);
  }
}

/** The anchor of a heading, as GitHub and other Git hosts make it. */
function headingAnchor(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');
}

/** Text as HTML. Code between backticks becomes `code` elements. */
function inlineHtml(text: string): string {
  return text
    .split('`')
    .map((part, index) => (index % 2 === 0 ? escapeHtmlText(part) : `<code>${escapeHtmlText(part)}</code>`))
    .join('');
}

function proseHtml(text: Prose): string {
  return text
    .map((part) =>
      typeof part === 'string'
        ? inlineHtml(part)
        : `<a href="${escapeHtmlText(part.to)}">${inlineHtml(part.text)}</a>`,
    )
    .join('');
}

function tableHtml(head: readonly string[], rows: readonly (readonly Prose[])[]): string {
  const cells = (row: readonly Prose[]) =>
    row
      .map((cell, index) => `<td data-head="${escapeHtmlText(head[index] ?? '')}">${proseHtml(cell)}</td>`)
      .join('');
  return `<table class="plain"><thead><tr>${head.map((cell) => `<th scope="col">${inlineHtml(cell)}</th>`).join('')}</tr></thead><tbody>${rows
    .map((row) => `<tr>${cells(row)}</tr>`)
    .join('')}</tbody></table>`;
}

function fieldsHtml({ summary, fields }: FieldsBlock): string {
  const html = `<table class="fields"><thead><tr><th scope="col">Name</th><th scope="col">Type and bounds</th><th scope="col">Default</th><th scope="col">Meaning</th></tr></thead><tbody>${fields.map(fieldHtml).join('')}</tbody></table>`;
  return summary === undefined ? html : `<details><summary>${inlineHtml(summary)}</summary>${html}</details>`;
}

function fieldHtml({ name, takes, note, fallback, description }: DocumentedField): string {
  const noteHtml = note === undefined ? '' : ` <span class="note">${escapeHtmlText(note)}</span>`;
  const fallbackHtml = fallback === undefined ? '' : `<code>${escapeHtmlText(fallback)}</code>`;
  return `<tr><th scope="row"><code>${escapeHtmlText(name)}</code>${noteHtml}</th><td class="takes">${escapeHtmlText(takes)}</td><td class="fallback">${fallbackHtml}</td><td>${inlineHtml(description)}</td></tr>`;
}

function samplesHtml({ samples }: SamplesBlock, group: number): string {
  const panels = samples.map(
    ({ label, language, code }) =>
      `<pre tabindex="0" role="group" aria-label="${escapeHtmlText(label)}"><code>${highlightedHtml(code, language)}</code></pre>`,
  );
  const [only, ...others] = samples;
  const header =
    only !== undefined && others.length === 0
      ? `<div class="bar"><span>${escapeHtmlText(only.label)}</span></div>`
      : tabsHtml(samples, group);
  return `<div class="samples">${header}${panels.join('')}</div>`;
}

/** Tabs made of one radio button per language. The style sheet shows the sample of the chosen language. */
function tabsHtml(samples: SamplesBlock['samples'], group: number): string {
  const tabs = samples.map(({ label }, index) => {
    const id = `tab-${group}-${index}`;
    const checked = index === 0 ? ' checked' : '';
    return `<input type="radio" name="tabs-${group}" id="${id}" value="${escapeHtmlText(label)}"${checked}><label for="${id}">${escapeHtmlText(label)}</label>`;
  });
  return `<div class="bar" role="radiogroup" aria-label="Language of the sample">${tabs.join('')}</div>`;
}

function pictureHtml({ label, address, alt }: PagePicture): string {
  return `<figure><img src="${escapeHtmlText(address)}" alt="${escapeHtmlText(alt)}" loading="lazy" decoding="async"><figcaption>${inlineHtml(label)}</figcaption></figure>`;
}

function cardsHtml({ cards }: CardsBlock): string {
  const items = cards.map(({ title, text, to, picture }) => {
    const shown =
      picture === undefined
        ? ''
        : `<img src="${escapeHtmlText(picture.address)}" alt="" loading="lazy" decoding="async">`;
    return `<li><a href="${escapeHtmlText(to)}">${shown}<strong>${inlineHtml(title)}</strong><span>${inlineHtml(text)}</span></a></li>`;
  });
  return `<ul class="cards">${items.join('')}</ul>`;
}

function trialHtml({ path, sends, inputs }: TryItForm): string {
  const { data, body, needsKey } = trialFormParts(sends);
  const attributes = Object.entries({ path, ...data }).map(
    ([name, value]) => `data-${name}="${escapeHtmlText(value)}"`,
  );
  const fields = inputs.map(parameterInputHtml).join('');
  return `<form class="trial" ${attributes.join(' ')} hidden>
<h2 id="try-it">Try it</h2>
<div class="inputs"><label>API key <input type="password" name="key" autocomplete="off" spellcheck="false" placeholder="drk_…"${needsKey ? ' required' : ''}></label>${body}
${fields === '' ? '' : `<fieldset><legend>Parameters</legend>${fields}</fieldset>`}
<button type="submit">Run</button><p class="quiet">The key stays in the memory of this page alone. A run counts like every other call.</p></div>
<div class="result" aria-live="polite"></div></form>`;
}

/** The parts of a trial form that are not parameters: data attributes for the script, and the fields of the body. */
function trialFormParts(sends: TryItForm['sends']): {
  data: Record<string, string>;
  body: string;
  needsKey: boolean;
} {
  if (sends === 'file') return { data: { sends }, body: fileInputHtml('file', 'File'), needsKey: true };
  if (sends === 'json') return { data: { sends }, body: '', needsKey: true };
  if ('op' in sends) {
    const body = sends.needsFile ? fileInputHtml('file', 'File') : '';
    return { data: { sends: 'job', op: sends.op }, body, needsKey: true };
  }
  const { method, needsKey, body } = sends;
  const data = { sends: 'call', method };
  if (body === undefined) return { data, body: '', needsKey };
  if (body === 'file') return { data, body: fileInputHtml('file', 'Body'), needsKey };
  if ('files' in body)
    return {
      data: { ...data, form: '' },
      body: body.files.map((name) => fileInputHtml(name, name)).join(''),
      needsKey,
    };
  const rows = Math.min(16, body.json.split('\n').length);
  const text = `<label>Body <textarea name="json" rows="${rows}" spellcheck="false">${escapeHtmlText(body.json)}</textarea></label>`;
  return { data, body: text, needsKey };
}

function fileInputHtml(name: string, label: string): string {
  return `<label>${escapeHtmlText(label)} <input type="file" name="${escapeHtmlText(name)}" accept="image/*" required></label>`;
}

function parameterInputHtml({ name, value, choices, isJson, isField, isRequired }: TrialInput): string {
  const flags = [isJson && ' data-json', isField && ' data-field', isRequired && ' required'];
  const attributes = `data-parameter="${escapeHtmlText(name)}"${flags.filter(Boolean).join('')}`;
  const control =
    choices === undefined
      ? `<input ${attributes} value="${escapeHtmlText(value)}" autocomplete="off" spellcheck="false">`
      : `<select ${attributes}>${['', ...choices].map((one) => `<option${one === value ? ' selected' : ''}>${escapeHtmlText(one)}</option>`).join('')}</select>`;
  return `<label><span>${escapeHtmlText(name)}</span> ${control}</label>`;
}

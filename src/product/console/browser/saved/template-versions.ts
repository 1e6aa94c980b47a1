import type { TemplateData } from '../../../../client/schema.ts';
import { api } from '../api.ts';
import { html } from '../html.ts';
import { Button, Select } from '../parts/controls.ts';
import { toast } from '../parts/overlays.ts';
import { ErrorBox, Page, Placeholder, Section } from '../parts/page.ts';
import { useAction, useLoad } from '../parts/reading.ts';
import { Time } from '../parts/values.ts';
import { navigate, useQuery } from '../router.ts';
import { exampleRowFor, rowOfFormValues } from './row.ts';
import { TemplatePreview } from './template-preview.ts';

/** Compares two versions of a template: as pictures, and as text with changes. */
export function TemplateVersions({ template }: { template: TemplateData }) {
  const { id, name } = template;
  const { data: versions, error, reload } = useLoad((signal) => api.templates.versions(id, { signal }), [id]);
  const [chosen, setChosen] = useQuery({ one: '', other: '' });
  const { act, isActing, error: notRestored } = useAction();
  const [latest, earlier = latest] = versions ?? [];
  const find = (version: string) => versions?.find((one) => String(one.version) === version);
  const one = find(chosen.one) ?? earlier;
  const other = find(chosen.other) ?? latest;
  const restore = (version: TemplateData) =>
    act(async () => {
      const { html, css, width, height, variables } = version;
      const saved = await api.templates.update(id, { html, css, width, height, variables });
      toast(`Version ${version.version} is back, as version ${saved.version}.`);
      navigate(`/console/templates/${id}`);
    });
  return html`<${Page} title=${`Versions of ${name}`} above=${{ title: name, path: `/console/templates/${id}` }}>
    <${ErrorBox} error=${error ?? notRestored} onRetry=${reload} />
    ${versions === undefined && error === undefined && html`<${Placeholder} />`}
    ${
      versions !== undefined &&
      one !== undefined &&
      other !== undefined &&
      html`
        <div class="side-by-side">
          ${(['one', 'other'] as const).map((side) => {
            const version = side === 'one' ? one : other;
            return html`<div key=${side}>
              <div class="version-head">
                <${Select}
                  aria-label=${side === 'one' ? 'Version at the left' : 'Version at the right'}
                  value=${version.version}
                  choices=${versions.map(({ version: number }) => ({ value: String(number), label: `Version ${number}` }))}
                  onChange=${(chosen: string) => setChosen({ [side]: chosen })}
                />
                <${Time} at=${version.createdAt} />
                ${
                  version.version !== latest?.version &&
                  html`<${Button} isBusy=${isActing} onClick=${() => restore(version)}>Restore<//>`
                }
              </div>
              <${TemplatePreview}
                label=${`Version ${version.version}`}
                request=${{ html: version.html, css: version.css, width: version.width, height: version.height, data: rowOfFormValues(exampleRowFor(version.variables)) }}
              />
            </div>`;
          })}
        </div>
        <${Section} title="HTML"><${TextDifference} label="the HTML" before=${one.html} after=${other.html} /><//>
        <${Section} title="CSS"><${TextDifference} label="the CSS" before=${one.css} after=${other.css} /><//>
      `
    }
  <//>`;
}

interface DiffLine {
  kind: 'same' | 'gone' | 'new';
  text: string;
}

/** The maximum number of compared pairs of lines (lines before × lines after). More would freeze the page. */
const MAX_LINE_PAIRS = 4_000_000;

/** The changes from one text to another, line by line. */
function TextDifference({ before, after, label }: { before: string; after: string; label: string }) {
  if (before === after) return html`<p class="quiet">Nothing changed in ${label}.</p>`;
  const lines = diffLines(before.split('\n'), after.split('\n'));
  return html`<pre class="difference" tabindex="0" role="group" aria-label=${`What changed in ${label}`}>${lines.map(
    ({ kind, text }, index) =>
      html`<span key=${index} class=${kind}>${diffSignOf(kind)} ${text}${'\n'}</span>`,
  )}</pre>`;
}

function diffSignOf(kind: DiffLine['kind']): string {
  return { same: ' ', gone: '−', new: '+' }[kind];
}

/** The lines of both texts in one sequence, found by their longest common subsequence. */
function diffLines(before: readonly string[], after: readonly string[]): DiffLine[] {
  const removedLine = (text: string): DiffLine => ({ kind: 'gone', text });
  const addedLine = (text: string): DiffLine => ({ kind: 'new', text });
  if (before.length * after.length > MAX_LINE_PAIRS)
    return [...before.map(removedLine), ...after.map(addedLine)];
  const width = after.length + 1;
  /** For each pair of lines, the length of the longest common subsequence of the rest of both texts. */
  const common = new Uint32Array((before.length + 1) * width);
  const commonLengthAt = (one: number, other: number) => common[one * width + other] ?? 0;
  for (let one = before.length - 1; one >= 0; one -= 1)
    for (let other = after.length - 1; other >= 0; other -= 1)
      common[one * width + other] =
        before[one] === after[other]
          ? commonLengthAt(one + 1, other + 1) + 1
          : Math.max(commonLengthAt(one + 1, other), commonLengthAt(one, other + 1));
  const lines: DiffLine[] = [];
  let [one, other] = [0, 0];
  while (one < before.length || other < after.length) {
    const [old, fresh] = [before[one], after[other]];
    if (old !== undefined && old === fresh) {
      lines.push({ kind: 'same', text: old });
      one += 1;
      other += 1;
    } else if (
      old !== undefined &&
      (fresh === undefined || commonLengthAt(one + 1, other) >= commonLengthAt(one, other + 1))
    ) {
      lines.push(removedLine(old));
      one += 1;
    } else {
      lines.push(addedLine(fresh ?? ''));
      other += 1;
    }
  }
  return lines;
}

import type { TemplateData } from '../../../../client/schema.ts';
import { html } from '../html.ts';
import { Button } from '../parts/button.ts';
import { TextDifference } from '../parts/difference.ts';
import { takesText } from '../parts/handlers.ts';
import { Page, Section } from '../parts/page.ts';
import { useAction, useReading } from '../parts/reading.ts';
import { ErrorBox, Waiting } from '../parts/states.ts';
import { toast } from '../parts/toast.ts';
import { Time } from '../parts/values.ts';
import { navigate, useQuery } from '../router.ts';
import { api } from '../session.ts';
import { Preview } from './preview.ts';
import { rowFor, rowOf } from './row.ts';

/** Compares two versions of a template: as pictures, and as text with changes. */
export function TemplateVersions({ template }: { template: TemplateData }) {
  const { id, name } = template;
  const {
    data: versions,
    error,
    reload,
  } = useReading((signal) => api.templates.versions(id, { signal }), [id]);
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
    ${versions === undefined && error === undefined && html`<${Waiting} />`}
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
                <select
                  aria-label=${side === 'one' ? 'Version at the left' : 'Version at the right'}
                  value=${version.version}
                  onChange=${takesText((text) => setChosen({ [side]: text }))}
                >
                  ${versions.map(({ version: number }) => html`<option key=${number} value=${number}>Version ${number}</option>`)}
                </select>
                <${Time} at=${version.createdAt} />
                ${
                  version.version !== latest?.version &&
                  html`<${Button} isBusy=${isActing} onClick=${() => restore(version)}>Restore<//>`
                }
              </div>
              <${Preview}
                label=${`Version ${version.version}`}
                request=${{ html: version.html, css: version.css, width: version.width, height: version.height, data: rowOf(rowFor(version.variables)) }}
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

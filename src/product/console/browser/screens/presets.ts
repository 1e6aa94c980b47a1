import type { PresetData } from '../../../../client/schema.ts';
import { api } from '../api.ts';
import { h, html, useState } from '../html.ts';
import { Button, Select } from '../parts/controls.ts';
import { Filters, savedItemFilters } from '../parts/lists.ts';
import { toast } from '../parts/overlays.ts';
import { Empty, ErrorBox, LabelledValues, NotLoadedPage, Page, Section } from '../parts/page.ts';
import { useAction, useLoad } from '../parts/reading.ts';
import { type Column, Table } from '../parts/table.ts';
import { Copy, Id, Status, Time } from '../parts/values.ts';
import { addressOf, navigate, type ScreenProps, useQuery } from '../router.ts';
import { PresetEditor, StepCards } from '../saved/preset-steps.ts';

/** The screen of presets. It shows their list, or one preset with its versions side by side. */
export default function PresetsScreen({ rest }: ScreenProps) {
  if (rest === '') return html`<${PresetList} />`;
  const slug = decodeURIComponent(rest);
  return html`<${PresetBySlug} key=${slug} slug=${slug} />`;
}

const PRESET_COLUMNS: readonly Column<PresetData>[] = [
  { title: 'Name', of: ({ name }) => name },
  {
    title: 'Slug',
    of: ({ slug }) => html`<${Copy} text=${slug} />`,
    width: '18em',
    isHiddenWhenNarrow: true,
  },
  { title: 'Steps', of: ({ steps }) => steps.map(({ op, operation }) => op ?? operation).join(' › ') },
  {
    title: 'Version',
    of: ({ version, builtIn }) => (builtIn ? html`<${Status} status="built in" />` : version),
    isNumber: true,
    width: '8.5em',
  },
];

function PresetList() {
  const [filters, setFilters] = useQuery({ search: '', from: '' });
  const { data, error, isLoading, reload } = useLoad((signal) => api.presets.list({}, { signal }), []);
  const words = filters.search.toLowerCase();
  const rows = (data ?? []).filter(
    ({ name, slug, builtIn }) =>
      `${name} ${slug}`.toLowerCase().includes(words) &&
      (filters.from === '' || builtIn === (filters.from === 'builtin')),
  );
  return html`<${Page}
    title="Presets"
    lead="Steps that are saved once, versioned, and run by name."
    actions=${html`<a class="button primary" href="/console/playground">New in the playground</a>`}
  >
    <${Filters}
      fields=${savedItemFilters('Search by name or slug')}
      values=${filters}
      onChange=${setFilters}
    />
    ${h(Table<PresetData>, {
      label: 'Presets',
      columns: PRESET_COLUMNS,
      rows,
      keyOf: ({ id }) => id,
      hrefOf: ({ slug }) => `/console/presets/${slug}`,
      ...{ isLoading, error, reload },
      empty: html`<${Empty}
        title="No preset here"
        text="Try some steps in the playground, and save them as a preset."
        action=${html`<a class="button" href="/console/playground">Open the playground</a>`}
      />`,
    })}
  <//>`;
}

const REMOVAL_TEXT = 'Calls that name it are refused from then on. All of its versions go with it.';
const PARENT_SCREEN = { title: 'Presets', path: '/console/presets' };

function PresetBySlug({ slug }: { slug: string }) {
  const { data, error, reload } = useLoad((signal) => readPreset(slug, signal), [slug]);
  if (data === undefined)
    return html`<${NotLoadedPage} title="Preset" above=${PARENT_SCREEN} error=${error} reload=${reload} />`;
  return html`<${PresetView} preset=${data} onSaved=${reload} />`;
}

/** Reads a preset with its earlier versions. They are only in the response of the list, so the list is read. */
async function readPreset(slug: string, signal: AbortSignal): Promise<PresetData> {
  const all = await api.presets.list({ includeVersions: true }, { signal });
  return (
    all.find((preset) => preset.slug === slug || preset.id === slug) ?? api.presets.get(slug, { signal })
  );
}

function PresetView({ preset, onSaved }: { preset: PresetData; onSaved: () => void }) {
  const { id, slug, name, description, steps, version, builtIn, usage, warnings = [] } = preset;
  const [isEditing, setIsEditing] = useState(false);
  const { actIfConfirmed, error } = useAction();
  const remove = () =>
    actIfConfirmed({ title: `Delete ${name}?`, text: REMOVAL_TEXT, act: 'Delete the preset' }, async () => {
      await api.presets.delete(slug);
      toast(`${name} is deleted.`);
      navigate(PARENT_SCREEN.path);
    });
  const stepsHref = addressOf('/console/playground', { steps: JSON.stringify(steps) });
  const actions = html`
    <a class="button" href=${addressOf('/console/playground', { preset: slug })}>Try it</a>
    <a class="button" href=${stepsHref}>Take its steps further</a>
    ${
      !builtIn &&
      html`
        <${Button} onClick=${() => setIsEditing(true)}>Edit<//>
        <${Button} kind="danger" onClick=${remove}>Delete<//>
      `
    }
  `;
  return html`<${Page} title=${name} lead=${description} above=${PARENT_SCREEN} actions=${actions}>
    <${ErrorBox} error=${error} />
    <${LabelledValues}
      of=${[
        ['Slug', html`<${Copy} text=${slug} />`],
        ['Id', id !== slug && html`<${Id} id=${id} />`],
        ['Version', builtIn ? html`<${Status} status="built in" />` : version],
        ['Widths of its addresses', preset.widths?.join(', ')],
        ['Used', usage && `by ${usage.runs} jobs`],
        ['Last used', usage?.lastRunAt && html`<${Time} at=${usage.lastRunAt} />`],
      ]}
    />
    ${warnings.map((warning) => html`<p key=${warning.code} class="quiet"><code>${warning.code}</code> ${warning.name}</p>`)}
    <${PresetSteps} preset=${preset} />
    ${
      isEditing &&
      html`<${PresetEditor}
      preset=${preset}
      onClose=${() => setIsEditing(false)}
      onSaved=${() => {
        setIsEditing(false);
        onSaved();
      }}
    />`
    }
  <//>`;
}

/** The steps of a preset, beside those of another version if the user chose one. */
function PresetSteps({ preset: { steps, version, versions = [] } }: { preset: PresetData }) {
  const [chosen, setChosen] = useQuery({ with: '' });
  const other = versions.find((one) => String(one.version) === chosen.with);
  return html`<${Section}
    title="Steps"
    actions=${
      versions.length > 0 &&
      html`<label class="inline">
      <span class="quiet">Beside</span>
      <${Select}
        value=${chosen.with}
        choices=${[
          { value: '', label: 'no other version' },
          ...versions
            .toReversed()
            .map((one) => ({ value: String(one.version), label: `Version ${one.version}` })),
        ]}
        onChange=${(version: string) => setChosen({ with: version })}
      />
    </label>`
    }
  >
    ${
      other === undefined
        ? html`<${StepCards} steps=${steps} />`
        : html`<div class="side-by-side">
            <div>
              <div class="version-head"><strong>Version ${other.version}</strong> <${Time} at=${other.updatedAt} /></div>
              <${StepCards} steps=${other.steps} comparedWith=${steps} />
            </div>
            <div>
              <div class="version-head"><strong>Version ${version}, the current one</strong></div>
              <${StepCards} steps=${steps} comparedWith=${other.steps} />
            </div>
          </div>`
    }
  <//>`;
}

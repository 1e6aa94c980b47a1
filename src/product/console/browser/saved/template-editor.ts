import type { Fix } from '../../../../client/errors.ts';
import type { NewTemplate, TemplateData } from '../../../../client/schema.ts';
import { variableNamesIn } from '../../../templates/placeholders.ts';
import { api } from '../api.ts';
import { html, useEffect, useState } from '../html.ts';
import { Button, errorMessageAt, Field, Form, onText, Tabs } from '../parts/controls.ts';
import { applyFix, type FormValues } from '../parts/correcting.ts';
import { toast, useKey } from '../parts/overlays.ts';
import { ErrorBox, Page, Section } from '../parts/page.ts';
import { useAction } from '../parts/reading.ts';
import { Id } from '../parts/values.ts';
import { navigate } from '../router.ts';
import { exampleRowFor, parametersOfVariables, rowOfFormValues, type TemplateVariable } from './row.ts';
import { TemplatePreview } from './template-preview.ts';

interface TemplateEditorProps {
  /** The template to edit; absent if the user creates a new one. */
  template?: TemplateData;
  onSaved?: () => void;
}

type TemplateForm = Required<
  Pick<NewTemplate, 'name' | 'description' | 'html' | 'css' | 'width' | 'height'>
> & {
  variables: TemplateVariable[];
};

const REMOVAL_TEXT = 'Calls that name it are refused from then on. All of its versions go with it.';
const PARENT_SCREEN = { title: 'Templates', path: '/console/templates' };
const NEW_TEMPLATE: TemplateForm = {
  name: '',
  description: '',
  html: '<main>\n  <h1>{{ title }}</h1>\n  <p>{{ subtitle }}</p>\n</main>\n',
  css: 'main {\n  display: grid;\n  align-content: center;\n  gap: 16px;\n  width: 100%;\n  height: 100%;\n  padding: 80px;\n  background: #1b1b1f;\n  color: #fff;\n  font-family: sans-serif;\n}\nh1 {\n  margin: 0;\n  font-size: 72px;\n}\np {\n  margin: 0;\n  font-size: 32px;\n  opacity: 0.7;\n}\n',
  width: 1_200,
  height: 630,
  variables: [],
};
const INITIAL_SAMPLE_VALUES: FormValues = { title: 'Hello', subtitle: 'Change this in the form' };

/** Edits a template, and draws it while the user types. */
export function TemplateEditor({ template, onSaved }: TemplateEditorProps) {
  const before: TemplateForm = template === undefined ? NEW_TEMPLATE : draftOf(template);
  const [draft, setDraft] = useState<TemplateForm>(before);
  const [values, setValues] = useState<FormValues>(
    template === undefined ? INITIAL_SAMPLE_VALUES : exampleRowFor(template.variables),
  );
  const isChanged = JSON.stringify(draft) !== JSON.stringify(before);
  useUnsavedWarning(isChanged);
  const variables = variablesIn(draft.html, draft.css, draft.variables);
  const set = (change: Partial<TemplateForm>) => setDraft({ ...draft, ...change });
  const saved = { ...draft, variables };
  const { actions, error } = useTemplateActions(template, saved, {
    isChanged,
    onUpdated: () => {
      setDraft(saved);
      onSaved?.();
    },
  });
  return html`<${Page}
    title=${template?.name ?? 'New template'}
    lead=${template && html`<${Id} id=${template.id} /> version ${template.version}`}
    above=${PARENT_SCREEN}
    actions=${actions}
  >
    <${ErrorBox} error=${error} onFix=${(fix: readonly Fix[]) => set(applyFix(draft, fix))} />
    <div class="editor">
      <${EditorText} draft=${draft} error=${error} onChange=${set} />
      <div class="editor-picture">
        <${TemplatePreview}
          label=${`${draft.name || 'The template'} with the row below`}
          request=${{ ...{ html: draft.html, css: draft.css, width: draft.width, height: draft.height }, data: rowOfFormValues(values) }}
        />
        <${Section} title="A row to try">
          ${
            variables.length === 0
              ? html`<p class="quiet">There is no placeholder yet: write <code>${'{{ title }}'}</code> in the HTML.</p>`
              : html`<${Form} parameters=${parametersOfVariables(variables)} values=${values} onChange=${setValues} />`
          }
        <//>
      </div>
    </div>
  <//>`;
}
/** The actions on the edited template: its buttons, and the error of the last action. */
function useTemplateActions(
  template: TemplateData | undefined,
  draft: TemplateForm,
  { isChanged, onUpdated }: { isChanged: boolean; onUpdated: () => void },
) {
  const { act, actIfConfirmed, isActing, error } = useAction();
  const isOwn = template !== undefined && !template.builtIn;
  const save = () =>
    act(async () => {
      if (isOwn) {
        const { version } = await api.templates.update(template.id, draft);
        toast(`Version ${version} is saved.`);
        return onUpdated();
      }
      const { id } = await api.templates.create({ ...draft, name: initialNameFor(draft.name, template) });
      toast('The template is saved.', { undo: () => api.templates.delete(id) });
      navigate(`${PARENT_SCREEN.path}/${id}`);
    });
  const remove = ({ id, name }: TemplateData) =>
    actIfConfirmed({ title: `Delete ${name}?`, text: REMOVAL_TEXT, act: 'Delete the template' }, async () => {
      await api.templates.delete(id);
      toast(`${name} is deleted.`);
      navigate(PARENT_SCREEN.path);
    });
  useKey('s', 'Save', () => void save());
  const actions = html`
    ${isOwn && html`<a class="button" href=${`${PARENT_SCREEN.path}/${template.id}/versions`}>Versions</a>`}
    ${template && html`<a class="button" href=${`/console/playground?template=${template.id}`}>Playground</a>`}
    ${isOwn && html`<${Button} kind="danger" onClick=${() => remove(template)}>Delete<//>`}
    <${Button} kind="primary" isBusy=${isActing} isDisabled=${isOwn && !isChanged} onClick=${save}>
      ${template?.builtIn ? 'Save as your own' : 'Save'}
    <//>
  `;
  return { actions, error };
}

interface DraftProps {
  draft: TemplateForm;
  error: unknown;
  onChange: (change: Partial<TemplateForm>) => void;
}

const EDITOR_TABS = [
  { name: 'html', label: 'HTML' },
  { name: 'css', label: 'CSS' },
  { name: 'facts', label: 'Name and size' },
];

/** The text fields of a template's editor, and facts about the template. */
function EditorText({ draft, error, onChange }: DraftProps) {
  const [part, setPart] = useState('html');
  return html`<div class="editor-text">
    <${Tabs} label="Part of the template" choices=${EDITOR_TABS} current=${part} onChoose=${setPart} />
    ${
      part === 'facts'
        ? html`<${TemplateFactsForm} draft=${draft} error=${error} onChange=${onChange} />`
        : html`<textarea
            class="source-text"
            aria-label=${part === 'html' ? 'HTML' : 'CSS'}
            spellcheck=${false}
            wrap="off"
            value=${part === 'html' ? draft.html : draft.css}
            onInput=${onText((text) => onChange({ [part]: text }))}
          ></textarea>`
    }
  </div>`;
}

function TemplateFactsForm({ draft: { name, description, width, height }, error, onChange }: DraftProps) {
  const numberOf = (event: Event) => (event.target as HTMLInputElement).valueAsNumber || 1;
  return html`<div class="form">
    <${Field} label="Name" error=${errorMessageAt(error, 'name')}>
      <input value=${name} maxlength="200" onInput=${onText((name) => onChange({ name }))} />
    <//>
    <${Field} label="Description">
      <input value=${description} onInput=${onText((description) => onChange({ description }))} />
    <//>
    <${Field} label="Width" hint="Pixels" error=${errorMessageAt(error, 'width')}>
      <input type="number" min="1" max="4096" value=${width} onInput=${(event: Event) => onChange({ width: numberOf(event) })} />
    <//>
    <${Field} label="Height" hint="Pixels" error=${errorMessageAt(error, 'height')}>
      <input type="number" min="1" max="4096" value=${height} onInput=${(event: Event) => onChange({ height: numberOf(event) })} />
    <//>
  </div>`;
}

function draftOf(template: TemplateData): TemplateForm {
  const { name, description = '', html, css, width, height, variables } = template;
  return { name, description, html, css, width, height, variables };
}

/** The initial name. A copy of a built-in template gets a different name. */
function initialNameFor(name: string, template: TemplateData | undefined): string {
  if (name === '') return 'Untitled';
  return template !== undefined && name === template.name ? `My ${name.toLowerCase()}` : name;
}

/**
 * The variables of the edited template, as its placeholders name them. A variable stays optional if it was so before.
 * @param before the variables of the saved template.
 */
export function variablesIn(
  html: string,
  css: string,
  before: readonly TemplateVariable[],
): TemplateVariable[] {
  const known = new Map(
    before.map((variable) => [typeof variable === 'string' ? variable : variable.name, variable]),
  );
  return variableNamesIn(html, css).map((name) => known.get(name) ?? name);
}

/** Asks the user for confirmation before a page with unsaved changes is left. */
function useUnsavedWarning(isUnsaved: boolean): void {
  useEffect(() => {
    if (!isUnsaved) return;
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener('beforeunload', ask);
    return () => removeEventListener('beforeunload', ask);
  }, [isUnsaved]);
}

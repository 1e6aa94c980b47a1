import { html, useId, type View } from '../html.ts';

interface TabsProps {
  label: string;
  choices: readonly { name: string; label: View }[];
  current: string;
  onChoose: (name: string) => void;
}

/** Tabs for several views. The arrow keys move between them. */
export function Tabs({ label, choices, current, onChoose }: TabsProps) {
  const group = useId();
  return html`<div class="tabs" role="radiogroup" aria-label=${label}>
    ${choices.map(
      (choice) => html`<label key=${choice.name} class=${choice.name === current ? 'current' : ''}>
        <input
          type="radio"
          name=${group}
          value=${choice.name}
          checked=${choice.name === current}
          onChange=${() => onChoose(choice.name)}
        />
        ${choice.label}
      </label>`,
    )}
  </div>`;
}

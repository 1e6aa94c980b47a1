/** A handler that passes on the text of a field, or the value of a choice. */
export function takesText(take: (text: string) => unknown): (event: Event) => void {
  return ({ target }) => void take((target as HTMLInputElement).value);
}

/** A handler that handles the submit of a form, instead of the browser, with its fields. */
export function submits(act: (fields: FormData) => unknown): (event: SubmitEvent) => void {
  return (event) => {
    event.preventDefault();
    act(new FormData(event.target as HTMLFormElement));
  };
}

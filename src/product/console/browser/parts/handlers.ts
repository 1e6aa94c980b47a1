/** A handler that hands on the text of a field, or the value of a choice. */
export function takesText(take: (text: string) => unknown): (event: Event) => void {
  return ({ target }) => void take((target as HTMLInputElement).value);
}

/** A handler that does the work of a form, in place of the browser, with its fields. */
export function submits(act: (fields: FormData) => unknown): (event: SubmitEvent) => void {
  return (event) => {
    event.preventDefault();
    act(new FormData(event.target as HTMLFormElement));
  };
}

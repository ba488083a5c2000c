/** Focuses the first invalid field of a form. */
type Form = { getInputNode: (path: string) => HTMLElement | null };

export function focusFirstError(form: Form): (errors: Record<string, unknown>) => void {
  return (errors) => {
    for (const path of Object.keys(errors)) {
      const field = form.getInputNode(path);
      if (!field) continue;
      field.focus();
      return;
    }
  };
}

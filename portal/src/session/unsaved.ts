/** Whether the page has something that its user typed and has not saved. */
let places = 0;

/** Returns what to call when it is saved or gone. */
export function holdUnsaved(): () => void {
  places += 1;
  return () => {
    places -= 1;
  };
}

export function hasUnsaved(): boolean {
  return places > 0;
}

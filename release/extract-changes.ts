/** The part of CHANGELOG.md about one version; a version that is not released yet has what is unreleased. */
export function extractChanges(changelog: string, version: string): string {
  const sections = changelog.split(/^(?=## )/m).slice(1);
  const find = (name: string) => sections.find((section) => section.startsWith(`## [${name}]`));
  const section = find(version) ?? find('Unreleased');
  if (section === undefined) throw new Error(`CHANGELOG.md has no section [${version}]`);
  return `${section.trimEnd()}\n`;
}

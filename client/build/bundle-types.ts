/**
 * Joins the declarations that tsc wrote to one file, without those that no export needs. Bundlers of declarations move
 * comments away from what they describe, so that editors no longer show them.
 */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import ts from 'typescript';

type Declaration = {
  file: string;
  text: string;
  isExported: boolean;
  /** The types that it names. */
  uses: Set<string>;
};

/** `folder` has the output of tsc; its `index.d.ts` only exports from other files. Throws for what cannot be joined. */
export async function bundleTypes(folder: string): Promise<string> {
  const files = new Map<string, ts.SourceFile>();
  for (const name of (await readdir(folder)).filter((each) => each.endsWith('.d.ts')).sort())
    files.set(name, parse(name, await readFile(join(folder, name), 'utf8')));
  const declarations = new Map<string, Declaration>();
  for (const [file, source] of files)
    for (const [name, declaration] of declarationsOf(file, source)) {
      const other = declarations.get(name);
      if (other) throw new Error(`${name} is declared in ${other.file} and in ${file}`);
      declarations.set(name, declaration);
    }
  const imports = new Map(Array.from(files, ([file, source]) => [file, importsOf(file, source)]));
  const exported = exportsOf(files.get('index.d.ts'), declarations);
  const needed = new Set(exported);
  // A set also visits what is added to it meanwhile.
  for (const name of needed) {
    const { file, uses } = declarations.get(name) ?? fail(`index.d.ts: no ${name}`);
    for (const used of uses) {
      const target = declarations.get(used);
      if (!target) continue;
      if (target.file !== file && !imports.get(file)?.has(used))
        throw new Error(`${file} means another ${used} than that of ${target.file}`);
      needed.add(used);
    }
  }
  const texts = Array.from(declarations)
    .filter(([name]) => needed.has(name))
    .map(([name, { text }]) => (exported.has(name) ? text : text.replace(/^export /m, '')));
  // Without this line, everything in a file of declarations is exported.
  return `${texts.join('\n')}\nexport {};\n`;
}

function parse(name: string, text: string): ts.SourceFile {
  return ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true);
}

function* declarationsOf(file: string, source: ts.SourceFile): Generator<[string, Declaration]> {
  for (const statement of source.statements) {
    if (ts.isImportDeclaration(statement) || ts.isExportDeclaration(statement)) continue;
    const name = nameOf(statement) ?? fail(`${file}: ${statement.getText()} has no name`);
    const isExported = statement.getText().startsWith('export ');
    yield [
      name,
      { file, text: statement.getFullText().trim(), isExported, uses: usesOf(statement) },
    ];
  }
}

function nameOf(statement: ts.Statement): string | undefined {
  if (ts.isVariableStatement(statement))
    return statement.declarationList.declarations[0]?.name.getText();
  return (statement as ts.DeclarationStatement).name?.getText();
}

function usesOf(node: ts.Node, uses = new Set<string>()): Set<string> {
  if (ts.isTypeReferenceNode(node)) uses.add(node.typeName.getText());
  if (ts.isExpressionWithTypeArguments(node)) uses.add(node.expression.getText());
  if (ts.isTypeQueryNode(node)) uses.add(node.exprName.getText());
  ts.forEachChild(node, (child) => void usesOf(child, uses));
  return uses;
}

function importsOf(file: string, source: ts.SourceFile): Set<string> {
  const names = new Set<string>();
  for (const statement of source.statements) {
    if (!ts.isImportDeclaration(statement)) continue;
    const bindings = statement.importClause?.namedBindings;
    if (!bindings || !ts.isNamedImports(bindings))
      throw new Error(`${file}: ${statement.getText()}`);
    for (const element of bindings.elements) names.add(keptName(element));
  }
  return names;
}

function exportsOf(
  index: ts.SourceFile | undefined,
  declarations: ReadonlyMap<string, Declaration>,
): Set<string> {
  const names = new Set<string>();
  for (const statement of index?.statements ?? fail('no index.d.ts')) {
    if (!ts.isExportDeclaration(statement)) throw new Error(`index.d.ts: ${statement.getText()}`);
    const { exportClause, moduleSpecifier } = statement;
    if (exportClause && ts.isNamedExports(exportClause))
      for (const element of exportClause.elements) names.add(keptName(element));
    else {
      const file = moduleSpecifier?.getText().replace(/^'\.\/(.*)\.ts'$/, '$1.d.ts');
      for (const [name, declaration] of declarations)
        if (declaration.file === file && declaration.isExported) names.add(name);
    }
  }
  return names;
}

function keptName({ propertyName, name }: ts.ImportOrExportSpecifier): string {
  if (propertyName) throw new Error(`${propertyName.getText()} must keep its name`);
  return name.text;
}

function fail(message: string): never {
  throw new Error(message);
}

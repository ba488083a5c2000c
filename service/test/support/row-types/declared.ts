/** Reads the row types of `service/src` with the type checker: the `Row` of every `sql<Row>`. */
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import {
  isFunctionDeclaration,
  isPropertyAccessExpression,
  isTaggedTemplateExpression,
  type CallExpression,
  type FunctionDeclaration,
  type Node,
  type TaggedTemplateExpression,
} from 'typescript/unstable/ast';
import {
  API,
  SymbolFlags,
  type Checker,
  type Type,
  type TypeReference,
} from 'typescript/unstable/sync';
import type { ObjectShape, Shape } from './shape.ts';

/** `place` is the statement's, for people. */
export type Statement = { place: string; shape: Shape };
/**
 * By the place of the word `execute`. In a generic function a statement has one type for each call of the function, by
 * both places.
 */
export type Statements = Record<string, Statement>;

const root = join(import.meta.dirname, '../../../..');

/** `folder` gets a configuration with `service/src` alone, which takes half the time of the whole project's. */
export function readDeclaredTypes(folder: string): Statements {
  const config = join(folder, 'tsconfig.json');
  writeFileSync(config, JSON.stringify(configuration));
  const api = new API({ cwd: root });
  try {
    const { checker, program } = api.updateSnapshot({ openProjects: [config] }).getProjects()[0]!;
    const files = globSync(join(root, 'service/src/**/*.ts')).filter((file) =>
      readFileSync(file, 'utf8').includes('sql<'),
    );
    return Object.fromEntries(
      files.flatMap((file) => readStatements(checker, program.getSourceFile(file)!)),
    );
  } finally {
    api.close();
  }
}

const configuration = {
  extends: join(root, 'tsconfig.json'),
  compilerOptions: { typeRoots: [join(root, 'node_modules/@types')] },
  include: [join(root, 'service/src')],
};

type Entry = [key: string, Statement];
/** Of a generic function, by the names of its parameters. */
type TypeArguments = Map<string, Type>;

function readStatements(checker: Checker, node: Node, around?: FunctionDeclaration): Entry[] {
  const inside = isFunctionDeclaration(node) ? node : around;
  const entries = isTaggedTemplateExpression(node) ? readStatement(checker, node, inside) : [];
  node.forEachChild((child) => void entries.push(...readStatements(checker, child, inside)));
  return entries;
}

function readStatement(
  checker: Checker,
  statement: TaggedTemplateExpression,
  around?: FunctionDeclaration,
): Entry[] {
  const { typeArguments: [node] = [], parent } = statement;
  if (!node) return [];
  const place = placeOf(statement);
  if (!isPropertyAccessExpression(parent) || parent.name.text !== 'execute')
    throw new Error(`${place}: only a statement that is executed right there has a row type`);
  const row = checker.getTypeFromTypeNode(node)!;
  const key = placeOf(parent.name);
  if (!around?.typeParameters) return [[key, { place, shape: toShape(checker, row, new Map()) }]];
  return checker.getSignatureUsage(around).map((usage) => {
    const call = usage.call?.resolve() as CallExpression;
    const shape = toShape(checker, row, readTypeArguments(checker, around, call));
    return [`${key} ${placeOf(call)}`, { place: `${place}, called by ${placeOf(call)}`, shape }];
  });
}

function readTypeArguments(
  checker: Checker,
  { typeParameters }: FunctionDeclaration,
  call: CallExpression,
): TypeArguments {
  const types = call.typeArguments?.map((node) => checker.getTypeFromTypeNode(node)!);
  if (!types) throw new Error(`${placeOf(call)}: write the type arguments`);
  return new Map(typeParameters?.map(({ name }, index) => [name.text, types[index]!]));
}

/** `service/src/directory/orgs.ts:83:26`, as stacks count lines and columns. */
function placeOf(node: Node): string {
  const file = node.getSourceFile();
  const { line, character } = file.getLineAndCharacterOfPosition(node.getStart());
  return `${relative(root, file.fileName)}:${line + 1}:${character + 1}`;
}

function toShape(checker: Checker, type: Type, given: TypeArguments): Shape {
  const convert = (each: Type) => toShape(checker, each, given);
  const name = type.getSymbol()?.name ?? '';
  if (type.isTypeParameter() && given.has(name)) return convert(given.get(name)!);
  if (type.isLiteralType()) return { literal: type.value };
  if (type.isUnionType()) return type.getTypes().map(convert);
  if (type.isIntrinsicType()) return type.intrinsicName;
  if (name === 'Date' || name === 'Buffer') return name;
  if (checker.isArrayType(type))
    return { element: convert(checker.getTypeArguments(type as TypeReference)[0]!) };
  if (type.isIntersectionType() && type.getTypes().some((each) => each.isTypeParameter()))
    return merge(type.getTypes().map((each) => convert(each) as ObjectShape));
  if (type.isObjectType() || type.isIntersectionType()) return toObject(checker, type, convert);
  throw new Error(`the check of row types does not support ${checker.typeToString(type)}`);
}

function toObject(checker: Checker, type: Type, convert: (type: Type) => Shape): ObjectShape {
  const [others] = checker.getIndexInfosOfType(type);
  const properties = checker.getPropertiesOfType(type).map((symbol) => {
    const declared = checker.getTypeOfSymbol(symbol)!;
    const isOptional = symbol.flags & SymbolFlags.Optional;
    const shape = isOptional ? [convert(declared), 'undefined'] : convert(declared);
    return [symbol.name, { shape, text: checker.typeToString(declared) }];
  });
  return {
    properties: Object.fromEntries(properties) as ObjectShape['properties'],
    ...(others && { rest: convert(others.valueType) }),
  };
}

function merge(shapes: ObjectShape[]): ObjectShape {
  const properties = Object.assign({}, ...shapes.map((each) => each.properties)) as object;
  return Object.assign({}, ...shapes, { properties }) as ObjectShape;
}

import type { Static, TObject } from 'typebox';

type AsText<Value> = Value extends Date ? string : Value;
type AsDate<Value> = Value extends string ? Date : Value;

/** A row with its times as the contract has them. */
export type TextTimes<Row> = { [Name in keyof Row]: AsText<Row[Name]> };

/** An object of the contract as its row is read: the times, which have names like `createdAt`, are a `Date`. */
export type Dated<Contract> = {
  [Name in keyof Contract]: Name extends `${string}At` ? AsDate<Contract[Name]> : Contract[Name];
};

/** Writes the times of a row as text. */
export function withTextTimes<Row extends object>(row: Row): TextTimes<Row> {
  const fields = Object.entries(row).map(([name, value]: [string, unknown]) => [
    name,
    value instanceof Date ? value.toISOString() : value,
  ]);
  return Object.fromEntries(fields) as TextTimes<Row>;
}

/** The object of the contract that a row has among its columns. */
export function fromRow<Schema extends TObject>(
  { properties }: Schema,
  row: Dated<Static<Schema>>,
): Static<Schema> {
  const own = Object.entries(row).filter(([name]) => name in properties);
  return withTextTimes(Object.fromEntries(own)) as Static<Schema>;
}

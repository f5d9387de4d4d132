import * as Units from "#schemas/records/Units.ts"

/** The sum of two amounts by unit, as the stores sum up rows. */
export const plusUnits = (a: Units.Units | null, b: Units.Units | null): Units.Units | null => {
  if (a === null || b === null) return a ?? b
  return Units.possible(Object.fromEntries(Units.names.flatMap((name) =>
    a[name] === undefined && b[name] === undefined ? [] : [[name, (a[name] ?? 0) + (b[name] ?? 0)]])))
}

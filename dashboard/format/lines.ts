/** Texts of forms that hold one entry a line. */

/** Blanks around an entry and empty lines do not count. */
export const linesOf = (text: string): ReadonlyArray<string> => text.split("\n").map((line) => line.trim()).filter((line) => line !== "")

/** `name<mark>value` lines. A line without the mark is a name without a value, which the gateway judges. */
export const pairsOf = (text: string, mark: string): Record<string, string> => Object.fromEntries(linesOf(text).map((line) => {
  const at = line.indexOf(mark)
  return at < 0 ? [line, ""] : [line.slice(0, at).trim(), line.slice(at + mark.length).trim()]
}))

export const pairsText = (pairs: Readonly<Record<string, string>> | null | undefined, mark: string): string => Object.entries(pairs ?? {}).map(([name, value]) => `${name}${mark}${value}`).join("\n")

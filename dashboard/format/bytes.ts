/** Sizes of files, and times that vendors' formats give as seconds. */
const UNITS = ["B", "kB", "MB", "GB"] as const
const STEP = 1_000

export const bytes = (value: number): string => {
  let size = value
  let unit = 0
  while (size >= STEP && unit < UNITS.length - 1) {
    size /= STEP
    unit++
  }
  return `${unit === 0 || size >= 100 ? size.toFixed(0) : size.toFixed(1)} ${UNITS[unit]}`
}

export const isoOf = (seconds: number | null): string | null => seconds === null ? null : new Date(seconds * 1_000).toISOString()

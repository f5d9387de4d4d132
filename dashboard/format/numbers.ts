/** Numbers as they are shown: what is not known is a dash, never a zero. */
export const unknown = "–"

const group = new Intl.NumberFormat("en", { maximumFractionDigits: 0 })
const LEAST_TOTAL_USD = 0.01
const ONE_MINUTE_S = 60
const ONE_HOUR_S = 3_600
const ONE_DAY_S = 86_400

export const count = (value: number | null | undefined): string => value === null || value === undefined || !Number.isFinite(value) ? unknown : group.format(value)

/** `1 answer`, `2 answers`. */
export const counted = (value: number, one: string, many: string): string => `${count(value)} ${value === 1 ? one : many}`

/** `12.4k`; the exact number belongs into the title. */
export const tokens = (value: number | null | undefined): string => {
  if (value === null || value === undefined || !Number.isFinite(value)) return unknown
  if (value < 10_000) return group.format(value)
  return value < 1_000_000 ? `${trimmed(value / 1_000)}k` : `${trimmed(value / 1_000_000)}M`
}

const trimmed = (value: number): string => value >= 100 ? value.toFixed(0) : value.toFixed(1)

/** A sum of money: two decimals, and more where two would say nothing. */
export const money = (usd: number | null | undefined): string => {
  if (usd === null || usd === undefined || !Number.isFinite(usd)) return unknown
  if (usd === 0) return "$0.00"
  const size = Math.abs(usd)
  if (size >= 1) return `${usd < 0 ? "-" : ""}$${size.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`
  // Three significant digits: one request may cost a ten-thousandth.
  const decimals = Math.min(12, Math.max(2, 2 - Math.floor(Math.log10(size))))
  return `${usd < 0 ? "-" : ""}$${size.toFixed(decimals)}`
}

/** A total of many requests: two decimals. The exact one belongs into the title. */
export const total = (usd: number | null | undefined): string => {
  if (usd === null || usd === undefined || !Number.isFinite(usd)) return unknown
  if (usd > 0 && usd < LEAST_TOTAL_USD) return `<$${LEAST_TOTAL_USD}`
  return Math.abs(usd) >= 1 ? money(usd) : `${usd < 0 ? "-" : ""}$${Math.abs(usd).toFixed(2)}`
}

/** `812 ms`, `1.24 s`, `2 m 03 s`, `3 h 05 m`, `2 d 4 h`. */
export const duration = (ms: number | null | undefined): string => {
  if (ms === null || ms === undefined || !Number.isFinite(ms)) return unknown
  if (ms < 1_000) return `${Math.round(ms)} ms`
  const seconds = ms / 1_000
  if (seconds < ONE_MINUTE_S) return `${seconds < 10 ? seconds.toFixed(2) : seconds.toFixed(1)} s`
  if (seconds < ONE_HOUR_S) return `${Math.floor(seconds / ONE_MINUTE_S)} m ${two(seconds % ONE_MINUTE_S)} s`
  if (seconds < ONE_DAY_S) return `${Math.floor(seconds / ONE_HOUR_S)} h ${two(seconds % ONE_HOUR_S / ONE_MINUTE_S)} m`
  return `${Math.floor(seconds / ONE_DAY_S)} d ${Math.floor(seconds % ONE_DAY_S / ONE_HOUR_S)} h`
}

const two = (value: number): string => String(Math.floor(value)).padStart(2, "0")

/** A share between 0 and 1. */
export const percent = (share: number | null | undefined): string => {
  if (share === null || share === undefined || !Number.isFinite(share)) return unknown
  const value = share * 100
  return `${value !== 0 && value < 10 ? value.toFixed(1) : value.toFixed(0)}%`
}

/** A time zone's name as `Intl` knows it, such as `Europe/Berlin`. Effect's `DateTime.zoneMakeNamed` would keep each spelling that a client tries. */
export const isTimeZone = (zone: string): boolean => {
  try {
    new Intl.DateTimeFormat("en-US", { timeZone: zone })
    return true
  } catch {
    return false
  }
}

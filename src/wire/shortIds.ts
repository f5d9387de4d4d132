/** Ids that a vendor takes in one length only: the same id is always cut the same way. */

/** Cut, and told apart from others of its beginning by its hash. */
export const shortened = (id: string, longest: number): string =>
  id.length <= longest ? id : `${id.slice(0, longest - 9)}_${fnv(id, 0x811c9dc5).toString(16).padStart(8, "0")}`

/** Nine letters and digits; what is that already is kept. */
export const ofNine = (id: string): string => {
  if (nine.test(id)) return id
  return (digits(id, 0x811c9dc5) + digits(id, 0xc9dc5118)).slice(2, 11)
}

const nine = /^[a-zA-Z0-9]{9}$/
const digits = (text: string, offset: number): string => fnv(text, offset).toString(36).padStart(7, "0")

/** FNV-1a, 32 bits. */
const fnv = (text: string, offset: number): number => {
  let hash = offset
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return hash >>> 0
}

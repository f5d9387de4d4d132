/**
 * The memory of events whose end has not come yet, of all streams of this process together: an image is one event of some MB, and many
 * streams that never end theirs must not take the process with them.
 */

/** Largest single event in bytes; image and audio deltas are the longest in the field. */
export const maxEventBytes = 32 * 1024 * 1024
/** Bytes of all unfinished events together. */
export const maxTotalBytes = 256 * 1024 * 1024
/** A shorter beginning is not counted: nearly all streams hold one for a moment. */
const uncountedBytes = 64 * 1024

let total = 0

/** Bytes that are counted now. */
export const held = (): number => total

/** One reader's part of it. */
export class EventMemory {
  private counted = 0

  /** The reader now holds so many bytes; false when that is too much, for one event or for all of them. */
  holds(bytes: number): boolean {
    const next = bytes <= uncountedBytes ? 0 : bytes
    if (next === this.counted) return true
    const after = total - this.counted + next
    if (next > this.counted && (bytes > maxEventBytes || after > maxTotalBytes)) return false
    total = after
    this.counted = next
    return true
  }
}

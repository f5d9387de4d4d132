/** A disk that runs full: writes over file handles fail from some byte on, as ENOSPC does. */
import * as fs from "node:fs/promises"
import * as os from "node:os"
import * as path from "node:path"
import { vi } from "vitest"

/** Lets `bytes` be written; answers the way to free the disk. */
export const fill = async (bytes: number): Promise<() => void> => {
  const place = path.join(os.tmpdir(), `handle-${process.pid}`)
  const handle = await fs.open(place, "w")
  const prototype = Object.getPrototypeOf(handle) as { write: (buffer: Uint8Array, at: number) => Promise<{ bytesWritten: number }> }
  await handle.close()
  await fs.rm(place)
  const { write } = prototype
  let left = bytes
  const spy = vi.spyOn(prototype, "write").mockImplementation(async function(this: unknown, buffer: Uint8Array, at: number) {
    if (left <= 0) throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" })
    // The last write of a disk is a short one.
    const piece = buffer.subarray(at, at + left)
    left -= piece.byteLength
    return await write.call(this, piece, 0)
  })
  return () => spy.mockRestore()
}

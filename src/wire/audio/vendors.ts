/** The vendors of sound by the family of their servers, and what of a request stands in their paths. Pure. */
import type { UpstreamErrorBody } from "#actors/request/ports/Face.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import type { TargetFamily } from "#schemas/wire/formats.ts"
import * as OneShotJson from "#src/wire/oneShot/oneShotJson.ts"
import type { Json } from "#src/wire/WireFormat.ts"
import type { AudioVendor } from "./AudioVendor.ts"
import { assemblyAi } from "./assemblyAi.ts"
import { deepgram } from "./deepgram.ts"
import { elevenLabs } from "./elevenLabs.ts"

const vendors: Partial<Record<TargetFamily, AudioVendor>> = {
  "speech/deepgram": deepgram, "transcriptions/deepgram": deepgram, "speech/elevenlabs": elevenLabs, "transcriptions/elevenlabs": elevenLabs,
  "transcriptions/assemblyai": assemblyAi
}

/** Null for a server of the clients' own format. */
export const vendorOf = (family: TargetFamily): AudioVendor | null => vendors[family] ?? null

/** How the family's servers tell of an error. */
export const errorOf = (family: TargetFamily, bytes: Uint8Array): UpstreamErrorBody | null => {
  const vendor = vendorOf(family)
  const parsed = vendor === null ? null : OneShotJson.recordOf(bytes)
  const said = vendor === null || parsed === null ? null : vendor.error(parsed)
  return said ?? OneShotJson.readError(bytes)
}

/** The target at the path of this request. */
export const placed = <T extends Pick<Target, "model" | "path" | "streamPath" | "wireFormat">>(target: T, body: Json): T => {
  const vendor = vendorOf(target.wireFormat)
  if (vendor === null) return target
  const path = target.wireFormat.startsWith("speech/") ? vendor.speechPath(target.path, target.model, body) : vendor.transcriptionPath(target.path, target.model, body)
  return { ...target, path, streamPath: path }
}

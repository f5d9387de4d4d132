/** Files: `GET /files/{name}.png`, `.wav`, `.mp4` and `.pdf`, the same bytes for the same name, as the endpoints that make them answer with. */
import { toneOf } from "#src/simulator/formats/audio.ts"
import { Bad, strictly } from "#src/simulator/formats/chatRequest.ts"
import { chatStreamError, renderChatError } from "#src/simulator/formats/errors.ts"
import type { Format, SimulatedCall } from "#src/simulator/formats/Format.ts"
import { pictureOf } from "#src/simulator/formats/images.ts"
import { oneShotCall } from "#src/simulator/formats/oneShotCall.ts"
import { markOf, videoOf } from "./mp4.ts"
import { pdfOf } from "./pdf.ts"

const path = /^\/files\/([\w-]{1,100})\.(png|wav|mp4|pdf)$/

const kinds: Readonly<Record<string, readonly [type: string, bytesOf: (name: string) => Buffer]>> = {
  png: ["image/png", (name) => pictureOf(name, "8x8")],
  wav: ["audio/wav", toneOf],
  mp4: ["video/mp4", (name) => videoOf(markOf(name), 1)],
  pdf: ["application/pdf", (name) => pdfOf([name])]
}

export const files: Format = {
  name: "files", methods: ["GET"], matches: (asked) => path.test(asked), identify: () => ({ model: null, stream: false }),
  read: strictly((_body, head): SimulatedCall => {
    const [, name = "", ending = ""] = path.exec(head.path) ?? []
    const kind = kinds[ending]
    if (kind === undefined) throw new Bad("No such file.", null, "not_found", 404)
    return oneShotCall(name, 0, () => ({ type: kind[0], pieces: [kind[1](name)] }))
  }),
  events: () => [], body: () => "", renderError: renderChatError, streamError: chatStreamError
}

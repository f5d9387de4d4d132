/** POST /v1/ocr, as an operation of the lane. */
import * as OneShot from "#src/inference/lane/oneShot/oneShot.ts"
import { codec } from "#src/wire/ocr/codec.ts"

export const { endpoints, routes } = OneShot.listed([OneShot.serve("/v1/ocr", OneShot.make({ kind: "ocr", codec, endpoint: "/v1/ocr", category: "ocr" }))])

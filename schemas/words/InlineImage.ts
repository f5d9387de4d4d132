/** Images that stand in a record, as `data:` URLs. The dashboard loads nothing from other hosts, so a URL of another scheme is none. */

/** What browsers draw; no script of an SVG runs where it is drawn as an image. */
const pattern = /^data:(image\/(?:png|jpeg|gif|webp|avif|svg\+xml|x-icon));base64,((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)$/

export interface InlineImage {
  /** Such as `image/png`. */
  readonly type: string
  readonly base64: string
}

/** Null for what is none. */
export const read = (url: unknown): InlineImage | null => {
  const [, type = "", base64 = ""] = typeof url === "string" ? pattern.exec(url) ?? [] : []
  return base64 === "" ? null : { type, base64 }
}

/** What stands in the way of drawing it; null = nothing. `most`: bytes. */
export const problemOf = (url: string, most: number): string | null => {
  const image = read(url)
  return image === null
    ? "Expected an image as data:image/png;base64,... (or jpeg, gif, webp, avif, svg+xml, x-icon): the dashboard loads nothing from other hosts"
    : image.base64.length * 3 / 4 > most ? `Expected an image of at most ${Math.floor(most / 1_024)} KiB` : null
}

/** Packages without types of their own, as far as they are used here. */
declare module "html-encoding-sniffer" {
  const sniff: (bytes: Uint8Array, options?: { readonly transportLayerEncodingLabel?: string | undefined; readonly defaultEncoding?: string }) => string
  export default sniff
}
declare module "@joplin/turndown-plugin-gfm" {
  import type TurndownService from "turndown"
  export const gfm: TurndownService.Plugin
}

/** The content of a page: its main text as Markdown or HTML, its links, its title. Runs in a thread, because a hostile page may take its time. */
import { gfm } from "@joplin/turndown-plugin-gfm"
import { Readability } from "@mozilla/readability"
import sniff from "html-encoding-sniffer"
import { parseHTML } from "linkedom"
import TurndownService from "turndown"
import { isHtml, isPdf, type Page, type PageReply, type PageTask } from "./page.ts"

/** Elements of a page that are read at all. */
const mostElements = 100_000
/** Levels of nesting: what reads a tree does so by calling itself. */
const deepest = 512
const mostPdfPages = 500
const mostLinks = 2_000
/** Characters of an answer. */
const mostContent = 2_000_000
const longest = { title: 1_000, description: 4_000 } as const

type Document = ReturnType<typeof parseHTML>["document"]

/** A fragment becomes a whole page. */
const parsed = (html: string): Document => parseHTML(/<html[\s>]/i.test(html) ? html : `<!doctype html><html><head></head><body>${html}</body></html>`).document

/** As its byte order mark, its head or its own declaration says. */
const decoded = ({ bytes, charset }: Pick<PageTask, "bytes" | "charset">): string => {
  const encoding = sniff(bytes, { transportLayerEncodingLabel: charset ?? undefined, defaultEncoding: "utf-8" })
  try {
    return new TextDecoder(encoding).decode(bytes)
  } catch {
    return new TextDecoder().decode(bytes)
  }
}

/** Elements and their deepest nesting, counted over the text: tags that are not closed count as open until an ancestor is closed. */
const tooComplex = (html: string): boolean => {
  let depth = 0
  let elements = 0
  for (const [, closing, name = "", end] of html.matchAll(/<(\/?)([a-zA-Z][^\s/<>]*)[^<>]*?(\/?)>/g)) {
    if (closing === "/") depth = Math.max(0, depth - 1)
    else {
      elements++
      if (end !== "/" && !isVoid.has(name.toLowerCase())) depth++
    }
    if (depth > deepest || elements > mostElements) return true
  }
  return false
}

const isVoid: ReadonlySet<string> = new Set(["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr", "p", "li", "td", "th", "tr", "dt", "dd", "option"])

const noise = "script, style, noscript, template, iframe, object, embed, svg, canvas, form, nav, aside, footer"

const textOf = (value: string | null | undefined, most: number): string | null => {
  const text = value?.replace(/\s+/g, " ").trim() ?? ""
  return text === "" ? null : text.slice(0, most)
}

const metaOf = (document: Document, ...names: ReadonlyArray<string>): string | null => {
  for (const name of names) {
    const found = document.querySelector(`meta[name="${name}"], meta[property="${name}"]`)?.getAttribute("content")
    if (found !== null && found !== undefined && found.trim() !== "") return found
  }
  return null
}

/** Where links of the page are relative to. */
const baseOf = (document: Document, url: string): string => {
  const said = document.querySelector("base[href]")?.getAttribute("href")
  return said === null || said === undefined ? url : URL.parse(said, url)?.href ?? url
}

const addressOf = (href: string | null, base: string): string | null => {
  const url = href === null || href === "" ? null : URL.parse(href, base)
  if (url === null || !/^https?:$/.test(url.protocol)) return null
  url.hash = ""
  return url.href
}

const linksOf = (document: Document, base: string): ReadonlyArray<string> => {
  const links = new Set<string>()
  for (const anchor of document.querySelectorAll("a[href]")) {
    const address = addressOf(anchor.getAttribute("href"), base)
    if (address !== null) links.add(address)
    if (links.size >= mostLinks) break
  }
  return [...links]
}

/** Addresses become whole, and those that run something go. */
const cleaned = (root: Document["documentElement"], base: string): void => {
  for (const one of root.querySelectorAll("a[href], img[src]")) {
    const name = one.hasAttribute("href") ? "href" : "src"
    const address = addressOf(one.getAttribute(name), base)
    if (address === null) one.removeAttribute(name)
    else one.setAttribute(name, address)
  }
  for (const one of root.querySelectorAll("*")) {
    for (const { name } of Array.from<{ readonly name: string }>(one.attributes)) if (/^on|^style$|^srcset$/i.test(name)) one.removeAttribute(name)
  }
}

const markdown = new TurndownService({ headingStyle: "atx", codeBlockStyle: "fenced", bulletListMarker: "-", emDelimiter: "*" })
markdown.use(gfm)

/** The main content, else the whole body without what is no content. */
const mainOf = (html: string): string => {
  const document = parsed(html)
  for (const one of document.querySelectorAll("script, style, noscript, template")) one.remove()
  const article = new Readability(document, { maxElemsToParse: mostElements, charThreshold: 200 }).parse()
  if (article?.content !== null && article?.content !== undefined && article.content.trim() !== "") return article.content
  const whole = parsed(html)
  for (const one of whole.querySelectorAll(noise)) one.remove()
  return whole.body?.innerHTML || whole.documentElement.innerHTML
}

const ofHtml = (html: string, { format, url }: PageTask): PageReply => {
  if (tooComplex(html)) return { refused: `it nests more than ${deepest} levels or has more than ${mostElements} elements` }
  const document = parsed(html)
  const base = baseOf(document, url)
  const facts = {
    title: textOf(document.querySelector("title")?.textContent ?? metaOf(document, "og:title"), longest.title),
    description: textOf(metaOf(document, "description", "og:description", "twitter:description"), longest.description),
    links: linksOf(document, base)
  }
  if (format === "links") return { page: { ...facts, content: "" } }
  const main = parsed(mainOf(html))
  cleaned(main.documentElement, base)
  const content = main.body?.innerHTML ?? ""
  return { page: { ...facts, content: (format === "html" ? content : markdown.turndown(content)).trim().slice(0, mostContent) } }
}

const escaped = (text: string): string => text.replace(/[&<>]/g, (one) => one === "&" ? "&amp;" : one === "<" ? "&lt;" : "&gt;")

const ofText = (text: string, format: PageTask["format"], title: string | null = null): Page => ({
  content: (format === "html" ? `<pre>${escaped(text)}</pre>` : format === "links" ? "" : text).trim().slice(0, mostContent),
  links: format === "links" ? [...new Set(text.match(/https?:\/\/[^\s<>"')\]]+/g) ?? [])].slice(0, mostLinks) : [],
  title, description: null
})

const ofPdf = async ({ bytes, format }: PageTask): Promise<PageReply> => {
  // It takes long to load, and most pages are none.
  const { extractText, getDocumentProxy } = await import("unpdf")
  const pdf = await getDocumentProxy(new Uint8Array(bytes), { verbosity: 0 })
  if (pdf.numPages > mostPdfPages) return { refused: `it has more than ${mostPdfPages} pages` }
  const { text } = await extractText(pdf, { mergePages: false })
  const { info } = await pdf.getMetadata() as { readonly info?: { readonly Title?: unknown } }
  return { page: ofText(text.join("\n\n"), format, textOf(typeof info?.Title === "string" ? info.Title : null, longest.title)) }
}

export const read = async (task: PageTask): Promise<PageReply> => {
  if (isPdf(task.mediaType)) return ofPdf(task)
  const text = decoded(task)
  // What says nothing of its type is a page when it looks like one.
  return isHtml(task.mediaType) && (task.mediaType !== "" || /^\s*</.test(text)) ? ofHtml(text, task) : { page: ofText(text, task.format) }
}

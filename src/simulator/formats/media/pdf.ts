/** Documents: a PDF file (ISO 32000-1) with one line of text a page. The same bytes for the same texts. */

const escaped = (text: string): string => text.replaceAll(/[\\()]/g, (sign) => `\\${sign}`)

const plain = (text: string): string => text.replaceAll(/\\([\\()])/g, "$1")

/** Objects before the pages: the catalogue, the list of pages, the font. */
const FIRST_PAGE = 4

/** `pages`: texts of Latin-1 characters. */
export const pdfOf = (pages: ReadonlyArray<string>): Buffer => {
  const kids = pages.map((_, i) => `${FIRST_PAGE + 2 * i} 0 R`).join(" ")
  const objects = [
    "<< /Type /Catalog /Pages 2 0 R >>", `<< /Type /Pages /Kids [${kids}] /Count ${pages.length} >>`, "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ...pages.flatMap((text, i) => {
      const stream = `BT /F1 24 Tf 72 720 Td (${escaped(text)}) Tj ET`
      return [
        `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents ${FIRST_PAGE + 2 * i + 1} 0 R /Resources << /Font << /F1 3 0 R >> >> >>`,
        `<< /Length ${stream.length} >>\nstream\n${stream}\nendstream`
      ]
    })
  ]
  let body = "%PDF-1.4\n"
  const offsets = objects.map((object, i) => {
    const at = body.length
    body += `${i + 1} 0 obj\n${object}\nendobj\n`
    return at
  })
  const start = body.length
  body += `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${offsets.map((at) => `${String(at).padStart(10, "0")} 00000 n \n`).join("")}`
  return Buffer.from(`${body}trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${start}\n%%EOF\n`, "latin1")
}

/** Texts of the pages of such a document; null when the bytes are no PDF. */
export const pagesIn = (bytes: Buffer): ReadonlyArray<string> | null => {
  const text = bytes.toString("latin1")
  if (!text.startsWith("%PDF-") || !text.trimEnd().endsWith("%%EOF")) return null
  return [...text.matchAll(/\(((?:[^\\()]|\\.)*)\) Tj/g)].map(([, page = ""]) => plain(page))
}

/** A string as Postgres text holds it: NUL and lone surrogates, which it cannot hold, become U+FFFD. */
export const stored = (text: string): string =>
  (text.includes("\0") ? text.replaceAll("\0", "\uFFFD") : text).toWellFormed()

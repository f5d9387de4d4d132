/** The word of a kind of flags; the style begins it with a capital. */
export const categoryWord = (category: string): string => category === "cli" ? "CLI" : category

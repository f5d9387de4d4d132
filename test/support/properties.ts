/**
 * For properties over histories: the library's default size of 10 ends a history before a line forms, a breaker opens or a window
 * passes. A history grows to its own bound with this size.
 */
export const long = { arbitrary: { size: 120 } } as const

/** What ties a control of a form to its member of the draft, and to what the gateway refused of it. */
import { wrongWith } from "../Field.tsx"

export const fieldsOf = <D extends object>(draft: D, put: (part: Partial<D>) => void, error: Error | null) => <K extends keyof D & string>(name: K) => ({
  value: draft[name], onChange: (value: D[K]): void => put({ [name]: value } as unknown as Partial<D>), wrong: wrongWith(error, name)
})

import { useState } from "react"
import { CodeBlock } from "../../parts/Copy.tsx"
import { SelectField } from "../../parts/Field.tsx"
import { type Language, languages, snippets } from "./verify.ts"

/** Code that a receiver needs to trust what it gets. */
export const Verify = () => {
  const [language, setLanguage] = useState<Language>("node")
  return (
    <div className="stack-tight">
      <SelectField label="Check signatures in" value={language} choices={Object.entries(languages).map(([value, word]) => ({ value, word }))} onChange={(value) => setLanguage(value in languages ? value as Language : "node")} />
      <CodeBlock label="check of signatures" text={snippets[language]} />
    </div>
  )
}

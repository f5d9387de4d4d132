/** The operator's password. */
import { useState } from "react"
import { useChange } from "../../api/query.ts"
import { Failure } from "../../parts/Feedback.tsx"
import { TextField, wrongWith } from "../../parts/Field.tsx"
import { Panel } from "../../parts/Page.tsx"
import { Form } from "../../parts/edit/Form.tsx"
import { Button } from "../../parts/Button.tsx"

const LEAST = 8

export const Password = () => {
  const [current, setCurrent] = useState("")
  const [next, setNext] = useState("")
  const change = useChange("PUT /api/settings/require-login", ["GET /api/auth/status"], () => {
    setCurrent("")
    setNext("")
  })
  return (
    <Panel id="password" title="Password">
      <Form onSubmit={() => change.mutate({ body: { password: next, currentPassword: current } })}>
        <div className="grid-fields">
          <TextField label="Current password" type="password" value={current} onChange={setCurrent} required wrong={wrongWith(change.error, "currentPassword")} />
          <TextField label="New password" type="password" value={next} onChange={setNext} required hint={`At least ${LEAST} characters`} wrong={wrongWith(change.error, "password")} />
        </div>
        <Failure what="The password was not changed" error={change.error} />
        {change.isSuccess && current === "" ? <p className="success" role="status">The password is changed. Access tokens that were made before are revoked.</p> : null}
        <div className="row"><Button type="submit" disabled={change.isPending || current === "" || next.length < LEAST}>Change the password</Button></div>
      </Form>
    </Panel>
  )
}

"""What a browser or a program meets of the agent's side: approvals over HTTP."""

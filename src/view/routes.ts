// what the server of a viewer answers: its page, what is shown, frames and commands
import { sceneShader } from "../render/renderer.ts";
import { jsonOf } from "./messages.ts";
import type { PageFiles } from "./page.ts";
import type { Routes } from "./server.ts";
import type { Session } from "./session.ts";

export function routesOf(session: Session, { html, style, script }: PageFiles): Routes {
  const facts = jsonOf(session.facts);
  const file = (type: string, body: string) => () => ({ type, body });
  return {
    get: {
      "": file("text/html", html),
      "page.js": file("text/javascript", script),
      "style.css": file("text/css", style),
      shader: file("text/plain", sceneShader()),
      scene: file("application/json", facts),
      frame: async (query, gone) => {
        const body = await session.frame(Number(query.get("after")), gone);
        return body && { type: "application/octet-stream", body };
      },
    },
    post: { act: (body) => session.command(body) },
  };
}

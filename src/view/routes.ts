// what the server of a viewer answers: its page, what is shown, frames and commands
import { sceneShader } from "../render/renderer.ts";
import { jsonOf } from "./messages.ts";
import type { PageFiles } from "./page.ts";
import type { Routes } from "./server.ts";
import type { Session } from "./session.ts";

/** Without a session the page's files alone. */
export function routesOf(session: Session | undefined, { html, style, script }: PageFiles): Routes {
  const file = (type: string, body: string) => () => ({ type, body });
  return {
    get: {
      "": file("text/html", html),
      "page.js": file("text/javascript", script),
      "style.css": file("text/css", style),
      shader: file("text/plain", sceneShader()),
      ...(session && {
        scene: file("application/json", jsonOf(session.facts)),
        frame: async (query: URLSearchParams, gone: AbortSignal) => {
          const body = await session.frame(Number(query.get("after")), gone);
          return body && { type: "application/octet-stream", body };
        },
      }),
    },
    post: session ? { act: (body) => session.command(body) } : {},
  };
}

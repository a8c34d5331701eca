// where a page has its frames from: the server that it came from, or itself
import { decodeFrame, fromBase64, fromJson, type Command, type Facts, type Frame } from "../src/view/messages.ts";

export interface Source {
  readonly facts: Facts;
  readonly shader: string;
  /** Asks for something; what is refused is told. */
  act(command: Command): void;
}

type OnFrame = (frame: Frame) => void;
type OnFault = (text: string) => void;

const dataOf = (id: string): string | undefined => document.getElementById(id)?.textContent ?? undefined;

/** Opens what the page has; frames come from then on. */
export async function openSource(onFrame: OnFrame, onFault: OnFault): Promise<Source> {
  const facts = dataOf("facts");
  return facts === undefined ? openServer(onFrame, onFault) : openOwn(fromJson(facts) as Facts, onFrame);
}

async function openServer(onFrame: OnFrame, onFault: OnFault): Promise<Source> {
  const ask = async (name: string) => {
    const response = await fetch(name);
    if (!response.ok) throw new Error(`${await response.text()} (${response.status})`);
    return response.text();
  };
  const [facts, shader] = await Promise.all(["scene", "shader"].map(ask));
  void follow(onFrame, onFault);
  return {
    facts: fromJson(facts) as Facts,
    shader,
    act(command) {
      const request = {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(command),
      };
      fetch("act", request).then(
        async (response) => onFault(response.ok ? "" : await response.text()),
        () => onFault("corral view has ended."),
      );
    },
  };
}

/** One request a frame: a page that is slow, or hidden, asks less often. */
async function follow(onFrame: OnFrame, onFault: OnFault): Promise<void> {
  let serial = 0;
  for (;;) {
    try {
      const response = await fetch(`frame?after=${serial}`);
      if (response.status === 200) {
        const frame = decodeFrame(await response.arrayBuffer());
        serial = frame.facts.serial;
        onFrame(frame);
      } else if (!response.ok) throw new Error(String(response.status));
    } catch {
      onFault("corral view has ended.");
      return;
    }
    await new Promise((resolve) => {
      requestAnimationFrame(resolve);
    });
  }
}

/** A recording that the page holds. */
async function openOwn(facts: Facts, onFrame: OnFrame): Promise<Source> {
  const { lengths, packed } = JSON.parse(dataOf("frames")!) as { lengths: number[]; packed: string };
  const stream = new Blob([fromBase64(packed)]).stream().pipeThrough(new DecompressionStream("gzip"));
  const buffer = await new Response(stream).arrayBuffer();
  let at = 0;
  const frames = lengths.map((length) => {
    const frame = decodeFrame(buffer.slice(at, at + length));
    at += length;
    return frame;
  });
  let [step, paused, speed, serial, last] = [0, false, 1, 0, performance.now()];
  const show = () => {
    const { facts: said, poses } = frames[step];
    onFrame({ facts: { ...said, serial: ++serial, paused, speed, back: step }, poses });
  };
  const to = (wanted: number) => {
    step = Math.min(frames.length - 1, Math.max(0, wanted));
    show();
  };
  const tick = (now: number) => {
    const due = Math.floor(((now - last) / 1000) * (speed / facts.dt));
    if (paused) last = now;
    else if (due > 0) {
      last = now;
      if (step === frames.length - 1) paused = true;
      to(step + due);
    }
    requestAnimationFrame(tick);
  };
  setTimeout(show);
  requestAnimationFrame(tick);
  return {
    facts,
    shader: JSON.parse(dataOf("shader")!) as string,
    act({ do: what, value = 0 }) {
      if (what === "play" && step === frames.length - 1) step = 0;
      if (what === "play" || what === "pause") paused = what === "pause";
      else if (what === "speed") speed = value;
      else if (what === "step" || what === "back") {
        paused = true;
        return to(step + (what === "step" ? 1 : -1));
      } else if (what === "reset" || what === "seek") return to(what === "seek" ? Math.round(value) : 0);
      show();
    },
  };
}

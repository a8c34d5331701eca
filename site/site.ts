// the page of the demo: what is shown, by which policy, and how fast it goes
import type { FromWorker, Opening, ToWorker } from "./messages.ts";

/** Env steps after which each policy was kept; site/train.ts makes them. */
const STEPS = [0, 100_000, 200_000, 400_000, 1_000_000];
/** Worlds at most: pictures of more are slow everywhere. */
const MOST_WORLDS = 1024;
const WORLDS_OF_MODELS = 16;

// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- says which element an id is of
const get = <T extends HTMLElement>(id: string): T => document.getElementById(id) as T;
const say = (text: string): void => {
  get("note").textContent = text;
  get("note").hidden = text === "";
};
const rounded = (x: number): string => Number(x.toPrecision(2)).toLocaleString("en");

let worker: Worker | undefined;
let model: Opening["model"];
let policies: readonly ArrayBuffer[] = [];
/** Counts what was opened: what an older one still tells is no news. */
let turn = 0;

const toWorker = (message: ToWorker, move: Transferable[] = []): void => worker?.postMessage(message, move);

function show(): void {
  const mine = ++turn;
  worker?.terminate();
  say("");
  get("rate").textContent = "…";
  get("training").hidden = model !== undefined;
  get("ants").hidden = model === undefined;
  get("shown").textContent = model ? model.name : "Ant-v5";
  worker = new Worker("worker.js", { type: "module" });
  worker.addEventListener("message", ({ data }: MessageEvent<FromWorker>) => {
    if (mine !== turn) return;
    if ("fault" in data) say(data.fault);
    else
      get("rate").textContent =
        `${rounded(data.rate.shown)} env steps/s shown, ${rounded(data.rate.most)} if it never waited`;
  });
  worker.addEventListener("error", ({ message }) => mine === turn && say(message || "The worker did not start."));

  const { port1, port2 } = new MessageChannel();
  const worlds = Math.min(MOST_WORLDS, Math.max(1, Math.round(Number(get<HTMLInputElement>("worlds").value)) || 1));
  const device = get<HTMLSelectElement>("device").value as Opening["device"];
  const follow = Number(get<HTMLInputElement>("time").value);
  toWorker({ open: { worlds, device, port: port1, ...(model ? { model } : { policies, follow }) } }, [port1]);
  const frame = document.createElement("iframe");
  Object.assign(frame, { title: "the worlds", src: "picture.html" });
  const ready = (event: MessageEvent) => {
    if (event.source !== frame.contentWindow || event.origin !== location.origin) return;
    removeEventListener("message", ready);
    frame.contentWindow!.postMessage("port", location.origin, [port2]);
  };
  addEventListener("message", ready);
  get("picture").replaceChildren(frame);
}

function tellTime(): void {
  const steps = STEPS[Number(get<HTMLInputElement>("time").value)];
  get("trained").textContent = steps === 0 ? "not trained" : `${steps.toLocaleString("en")} env steps of training`;
}

async function take([file, ...others]: readonly File[]): Promise<void> {
  if (!file || others.length > 0 || !/\.(xml|mjcf|urdf|zip)$/i.test(file.name))
    return say("Drop one file: an MJCF or URDF, or a zip of one with all files that it names.");
  model = { name: file.name, bytes: new Uint8Array(await file.arrayBuffer()) };
  get<HTMLInputElement>("worlds").value = String(WORLDS_OF_MODELS);
  show();
}

async function begin(): Promise<void> {
  policies = await Promise.all(
    STEPS.map(async (steps) => (await fetch(`policies/ant-${steps}.safetensors`)).arrayBuffer()),
  );
  const time = get<HTMLInputElement>("time");
  time.max = time.value = String(STEPS.length - 1);
  tellTime();
  time.addEventListener("input", () => {
    tellTime();
    toWorker({ follow: Number(time.value) });
  });
  for (const id of ["worlds", "device"]) get(id).addEventListener("change", show);
  get("push").addEventListener("click", () => toWorker({ push: true }));
  get("ants").addEventListener("click", () => {
    model = undefined;
    get<HTMLInputElement>("worlds").value = "100";
    show();
  });
  const input = get<HTMLInputElement>("files");
  input.addEventListener("change", () => void take([...(input.files ?? [])]));
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => {
    event.preventDefault();
    void take([...(event.dataTransfer?.files ?? [])]);
  });
  if (!("gpu" in navigator)) get<HTMLSelectElement>("device").options[1].disabled = true;
  show();
  document.body.dataset.ready = "";
}

begin().catch((error: unknown) => say(error instanceof Error ? error.message : String(error)));

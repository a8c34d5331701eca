// saves what the canvas shows as a video, by the browser's own encoder
import { get, on, say } from "./dom.ts";

/** MP4 where the browser writes it. */
const TYPES = ["video/mp4", "video/webm"] as const;
/** Most pictures a second of a clip. */
const RATE = 30;

/** Has a button begin a clip, and end and save it. */
export function makeClips(canvas: HTMLCanvasElement): void {
  const button = get<HTMLButtonElement>("clip");
  const type = "MediaRecorder" in globalThis ? TYPES.find((each) => MediaRecorder.isTypeSupported(each)) : undefined;
  if (type === undefined) {
    Object.assign(button, { disabled: true, title: "this browser encodes no video; corral render writes MP4 and GIF" });
    return;
  }
  let recorder: MediaRecorder | undefined;
  const end = () => {
    recorder = undefined;
    button.textContent = "save clip";
  };
  on(button, "click", () => {
    if (recorder) return recorder.stop();
    const made: Blob[] = [];
    recorder = new MediaRecorder(canvas.captureStream(RATE), { mimeType: type });
    recorder.addEventListener("dataavailable", ({ data }) => made.push(data));
    recorder.addEventListener("error", () => {
      end();
      say("The browser could not encode the clip; corral render writes MP4 and GIF.");
    });
    recorder.addEventListener("stop", () => {
      end();
      save(new Blob(made, { type }), `corral-clip.${type.slice(type.indexOf("/") + 1)}`);
    });
    recorder.start();
    button.textContent = "end clip";
  });
}

function save(blob: Blob, name: string): void {
  const href = URL.createObjectURL(blob);
  Object.assign(document.createElement("a"), { href, download: name }).click();
  // the download has begun by then
  setTimeout(() => URL.revokeObjectURL(href), 60_000);
}

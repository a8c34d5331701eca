// saves what the canvas shows as a video, by the browser's own encoder
import { get, on, say } from "./dom.ts";

/** MP4 where the browser writes it. */
const TYPES = ["video/mp4", "video/webm"] as const;
/** Most pictures a second of a clip. */
const RATE = 30;
/** Milliseconds after which the encoder hands over what it has. */
const SLICE_MS = 250;

/**
 * Has a button begin a clip, and end and save it. A clip ends once a picture of it is encoded, which a slow machine may not
 * have done when it is asked to end; asked once more it ends without.
 */
export function makeClips(canvas: HTMLCanvasElement, draw: () => void): void {
  const button = get<HTMLButtonElement>("clip");
  const type = "MediaRecorder" in globalThis ? TYPES.find((each) => MediaRecorder.isTypeSupported(each)) : undefined;
  if (type === undefined) {
    Object.assign(button, { disabled: true, title: "this browser encodes no video; corral render writes MP4 and GIF" });
    return;
  }
  let recorder: MediaRecorder | undefined;
  let made: Blob[] = [];
  let isEnding = false;
  const close = () => {
    recorder = undefined;
    button.textContent = "save clip";
  };
  const begin = () => {
    [made, isEnding] = [[], false];
    const begun = (recorder = new MediaRecorder(canvas.captureStream(RATE), { mimeType: type }));
    begun.addEventListener("dataavailable", ({ data }) => {
      if (data.size > 0) made.push(data);
      if (isEnding && made.length > 0 && begun.state === "recording") begun.stop();
    });
    begun.addEventListener("error", () => {
      close();
      say("The browser could not encode the clip; corral render writes MP4 and GIF.");
    });
    begun.addEventListener("stop", () => {
      close();
      if (made.length > 0) save(new Blob(made, { type }), `corral-clip.${type.slice(type.indexOf("/") + 1)}`);
      else say("No picture of the clip was encoded; corral render writes MP4 and GIF.");
    });
    begun.start(SLICE_MS);
    button.textContent = "end clip";
  };
  on(button, "click", () => {
    if (!recorder) begin();
    else if (made.length > 0 || isEnding) recorder.stop();
    else {
      isEnding = true;
      button.textContent = "ending clip";
    }
    // a clip of what stands still has a picture too
    draw();
  });
}

function save(blob: Blob, name: string): void {
  const href = URL.createObjectURL(blob);
  Object.assign(document.createElement("a"), { href, download: name }).click();
  // the download has begun by then
  setTimeout(() => URL.revokeObjectURL(href), 60_000);
}

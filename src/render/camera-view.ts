// cameras of a scene, in Node and in a page
import { fixedView, type View } from "./camera.ts";
import type { Scene } from "./scene.ts";
import { CAMERA_FLOATS } from "./show.ts";

/** The view of a camera of a scene, whose frames are `cameras`. */
export function cameraView(scene: Pick<Scene, "cameras">, camera: number, cameras: Float32Array): View {
  const at = camera * CAMERA_FLOATS;
  const { fovy, lens } = scene.cameras[camera];
  return fixedView(cameras.subarray(at, at + 3), cameras.subarray(at + 3, at + 12), fovy, lens);
}

// where a picture shows named sites is where MuJoCo's cameras see them: its frustums, and the sensor camprojection
import { expect, test } from "vitest";
import { mjtObj } from "../../src/model/enums.ts";
import { loadModel } from "../../src/model/model.ts";
import { pixelOf, projectionOf, rayOf, type View } from "../../src/render/camera.ts";
import { BODY_FLOATS } from "../../src/render/show.ts";
import { Stage } from "../../src/render/poses.ts";
import { rotation, turned } from "../../src/render/rotation.ts";
import { createRandom } from "../support/mjcf-random.ts";
import { pictureBounds } from "../support/tolerances.ts";

const [WIDTH, HEIGHT] = [320, 200];
const SITES = ["still", "hand", "elbow"];
/** Cameras whose pixels MuJoCo's sensor tells are of the picture's size. */
const RESOLUTION = `resolution="${WIDTH} ${HEIGHT}"`;
const MODEL = `<mujoco>
  <worldbody>
    <camera name="fixed" pos="0.3 -3 1.5" xyaxes="1 0.2 0 0 0.4 1" fovy="38" ${RESOLUTION}/>
    <camera name="follows" mode="trackcom" pos="0 -2.5 1" xyaxes="1 0 0 0 0.5 1" ${RESOLUTION}/>
    <camera name="aims" mode="targetbody" target="arm" pos="2 -2 2" fovy="60" ${RESOLUTION}/>
    <camera name="parallel" projection="orthographic" pos="0 -3 1" xyaxes="1 0 0 0 0.3 1" fovy="4"/>
    <camera name="sensor" pos="-1 -3 1.5" xyaxes="1 -0.2 0 0 0.4 1" sensorsize="0.016 0.01" focal="0.012 0.011"
      principal="0.002 -0.001" ${RESOLUTION}/>
    <site name="still" pos="0.4 0.2 0.9"/>
    <body name="base" pos="0 0 1"><freejoint/><geom size="0.2"/><camera name="rides" pos="0 -2 0.3" xyaxes="1 0 0 0 0.1 1" ${RESOLUTION}/>
      <body name="arm" pos="0.2 0 0"><joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0.5 0 0.1" size="0.05"/>
        <site name="elbow" pos="0.1 0.05 0.1" euler="10 20 30"/><site name="hand" pos="0.5 0 0.1"/></body></body>
  </worldbody>
  <sensor>${["fixed", "follows", "aims", "rides"]
    .flatMap((camera) => SITES.map((site) => `<camprojection site="${site}" camera="${camera}"/>`))
    .join("")}</sensor>
</mujoco>`;

test("sites are drawn at the pixels at which MuJoCo's cameras see them", async () => {
  const model = await loadModel(MODEL, { visuals: true });
  using stage = await Stage.create(model);
  const { mujoco, model: mj, data } = stage.oracle;
  const r = createRandom(3);
  const idOf = (kind: number, name: string) => mujoco.mj_name2id(mj, kind, name);
  let sensed = 0;
  for (let trial = 0; trial < 20; trial++) {
    const qpos = Array.from(model.qpos0, (x, i) => x + r.between(-0.4, 0.4) * Number(i !== 2));
    const poses = stage.poses([{ qpos }]);
    mujoco.mj_forward(mj, data);
    // as they are drawn: from poses of bodies
    const placeOf = (site: number) => {
      const body = (mj.site_bodyid as Int32Array)[site];
      const [x, y, z, ...quat] = poses.bodies.subarray(BODY_FLOATS * body, BODY_FLOATS * (body + 1));
      const at = turned(rotation(quat), (mj.site_pos as Float64Array).subarray(3 * site, 3 * site + 3) as never);
      return [x + at[0], y + at[1], z + at[2]] as const;
    };
    const pixel = (view: View, at: readonly [number, number, number]) =>
      pixelOf(projectionOf(view, WIDTH / HEIGHT, 0.01, 100), at, WIDTH, HEIGHT)!;
    const sensors = data.sensordata as Float64Array;
    stage.cameras.forEach((name, c) => {
      const view = stage.cameraView(c, poses);
      const camera = new mujoco.MjvCamera();
      Object.assign(camera, { type: FIXED, fixedcamid: c });
      const gl = mujoco.mjv_camera2GLCamera(mj, data, camera);
      for (const [s, site] of SITES.entries()) {
        const id = idOf(mjtObj.SITE, site);
        const [x, y] = pixel(view, placeOf(id));
        const [u, v] = seenBy(gl, (data.site_xpos as Float64Array).subarray(3 * id, 3 * id + 3));
        expect(Math.hypot(x - u, y - v), `${site} by ${name}`).toBeLessThan(pictureBounds.site.value);
        const sensor = (["fixed", "follows", "aims", "rides"] as const).indexOf(name as "fixed");
        if (sensor >= 0) {
          const at = 2 * (sensor * SITES.length + s);
          expect(Math.hypot(x - sensors[at], y - sensors[at + 1]), `${site}, sensed by ${name}`).toBeLessThan(
            pictureBounds.site.value,
          );
          sensed++;
        }
        // picking goes the way back
        const { eye, along } = rayOf(view, WIDTH / HEIGHT, (2 * x) / WIDTH - 1, 1 - (2 * y) / HEIGHT);
        const to = placeOf(id).map((p, i) => p - eye[i]);
        const off = along.map((a, i) => to[i] - a * along.reduce((sum, b, j) => sum + b * to[j], 0));
        expect(Math.hypot(...off), `ray to ${site} of ${name}`).toBeLessThan(1e-5);
      }
      gl.delete();
      camera.delete();
    });
  }
  expect(sensed).toBe(20 * 4 * SITES.length);
});

/** mjCAMERA_FIXED. */
const FIXED = 2;

interface Frustum {
  readonly pos: ArrayLike<number>;
  readonly forward: ArrayLike<number>;
  readonly up: ArrayLike<number>;
  readonly orthographic: number;
  readonly frustum_center: number;
  readonly frustum_width: number;
  readonly frustum_bottom: number;
  readonly frustum_top: number;
  readonly frustum_near: number;
}

/** The pixel of a point in a frustum of OpenGL's, as mjr_render sets it up. */
function seenBy(gl: Frustum, at: ArrayLike<number>): [number, number] {
  const [f, u] = [Array.from(gl.forward), Array.from(gl.up)];
  const right = [f[1] * u[2] - f[2] * u[1], f[2] * u[0] - f[0] * u[2], f[0] * u[1] - f[1] * u[0]];
  const to = [0, 1, 2].map((i) => at[i] - gl.pos[i]);
  const along = (axis: readonly number[]) => axis.reduce((sum, a, i) => sum + a * to[i], 0);
  const { frustum_bottom: low, frustum_top: high, frustum_near: near } = gl;
  const half = gl.frustum_width || (0.5 * (high - low) * WIDTH) / HEIGHT;
  const scale = gl.orthographic ? 1 : near / along(f);
  const x = (scale * along(right) - gl.frustum_center + half) / (2 * half);
  return [x * WIDTH, ((high - scale * along(u)) / (high - low)) * HEIGHT];
}

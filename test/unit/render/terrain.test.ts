// worlds of a task on terrain are drawn where they stand on it and touch it there, as they are played and from recordings
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Box, defineTask, makeTerrain, makeVec } from "../../../src/env/index.ts";
import { loadTaskModel } from "../../../src/env/task/load.ts";
import { patchAt } from "../../../src/model/terrain/terrain.ts";
import { DrawList, INSTANCE_FLOATS } from "../../../src/render/draw-list.ts";
import { Stage } from "../../../src/render/poses.ts";
import { readRecording, recordedPoses } from "../../../src/render/recording.ts";
import { SHAPE } from "../../../src/render/scene.ts";
import { BODY_FLOATS, CONTACT_FLOATS, SHOWN, showWorlds } from "../../../src/render/show.ts";
import { posesOf } from "../../../src/runs/poses.ts";
import { recordEpisodes } from "../../../src/runs/record-episodes.ts";
import { contactsOf } from "../../../src/view/contacts.ts";
import { drawnPlace } from "../../support/tolerances.ts";

const RADIUS = 0.2;
const SUNK = 5e-4;
const WORLDS = 6;
const BALL = `<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/>
  <body name="ball" pos="0 0 ${RADIUS}"><freejoint/><geom size="${RADIUS}"/></body></worldbody></mujoco>`;

/** What no joint moves, of the world and of a body of its own. */
const POSTS = `<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/>
  <geom type="ellipsoid" size=".1 .1 .3" pos="1 0 .3"/><body pos="-1 0 .3"><geom type="ellipsoid" size=".1 .1 .3"/></body>
  <body name="ball" pos="0 0 ${RADIUS}"><freejoint/><geom type="box" size="${RADIUS} .1 .1"/></body></worldbody></mujoco>`;

const ballOn = (as: "boxes" | "field", model = BALL) => {
  const ground = makeTerrain({ rows: 2, columns: ["flat", "stairs-up", "slope-down"], cell: 0.5, as });
  const task = defineTask({
    id: `BallOn-${as}`,
    model,
    frameSkip: 1,
    maxEpisodeSteps: 2,
    actionSpace: () => new Box({ low: -1, high: 1, shape: [1] }),
    control: () => [],
    terrain: { ground, geom: "floor" },
    observe: { qpos: "qpos" },
    reward: { none: 0 },
    reset: () => ({ qpos: [0, 0, RADIUS - SUNK, 1, 0, 0, 0] }),
  });
  return { ground, task };
};

test.each(["boxes", "field"] as const)("what no joint moves is drawn in every world on a terrain of %s", async (as) => {
  const { task } = ballOn(as, POSTS);
  await using env = await makeVec(task, { numEnvs: WORLDS, device: "wasm", threads: 1, recorder: false });
  await env.reset({ seed: 1 });
  const worlds = await posesOf(env);
  using stage = await Stage.create(await loadTaskModel(task, { visuals: true }));
  const list = new DrawList();
  const poses = stage.poses(worlds);
  showWorlds(list, stage.scene, poses, stage.radius, SHOWN, stage.places(WORLDS));
  const { draws, instances } = list.pack();
  const posts = draws.flatMap(({ shape, first, count }) =>
    shape === SHAPE.round ? Array.from({ length: count }, (_, i) => (first + i) * INSTANCE_FLOATS) : [],
  );
  const found = posts.map((at) => [instances[at + 3], instances[at + 7]]);
  const balls = worlds.map((_, w) => {
    const from = (w * stage.scene.bodies.length + stage.scene.bodies.findIndex(({ moves }) => moves)) * BODY_FLOATS;
    return [...poses.bodies.subarray(from, from + 2)];
  });
  // worlds of one patch have their posts at one place
  for (const [x, y] of balls) {
    for (const side of [-1, 1]) {
      const apart = found.map(([px, py]) => Math.hypot(px - x - side, py - y));
      expect(Math.min(...apart)).toBeLessThan(drawnPlace.value);
    }
  }
});

test.each(["boxes", "field"] as const)("worlds are drawn where they stand on a terrain of %s", async (as) => {
  const { ground, task } = ballOn(as);
  await using env = await makeVec(task, { numEnvs: WORLDS, device: "wasm", threads: 1, recorder: false });
  await env.reset({ seed: 1 });
  const worlds = await posesOf(env);
  using stage = await Stage.create(await loadTaskModel(task, { visuals: true }));
  const poses = stage.poses(worlds);
  const nbody = stage.scene.bodies.length;
  const places = worlds.map((_, w) => {
    const from = (w * nbody + stage.scene.bodies.findIndex(({ moves }) => moves)) * BODY_FLOATS;
    return [...poses.bodies.subarray(from, from + 3)];
  });
  const [x, y, height] = patchAt(ground, 0, 0);
  const middles = [0, 1].flatMap((row) => [0, 1, 2].map((column) => patchAt(ground, row, column)));
  for (const place of places) {
    const apart = middles.map((m) =>
      Math.hypot(...[m[0] - x, m[1] - y, m[2] - height + RADIUS].map((p, i) => p - place[i])),
    );
    expect(Math.min(...apart)).toBeLessThan(drawnPlace.value);
  }
  expect(new Set(places.map(String)).size).toBeGreaterThan(2);

  // a world that is alone is seen from as high above its ground, wherever that lies
  const heights = worlds.map((world, w) => stage.freeCamera(stage.poses([world])).lookat[2] - places[w][2]);
  for (const above of heights) expect(Math.abs(above - heights[0])).toBeLessThan(drawnPlace.value);

  // the ground is drawn once, for all
  const list = new DrawList();
  const boxes = (count: number) => {
    showWorlds(list, stage.scene, stage.poses(worlds.slice(0, count)), stage.radius, SHOWN, stage.places(count));
    return list
      .pack()
      .draws.filter(({ shape }) => shape !== SHAPE.round)
      .reduce((sum, draw) => sum + draw.count, 0);
  };
  expect(stage.places(WORLDS)).toEqual({ places: worlds.map(() => 0) });
  expect(boxes(WORLDS)).toBe(boxes(1));

  // each ball touches its own patch below where it is drawn
  worlds.forEach((pose, w) => {
    const shift = stage.put(pose);
    const found = contactsOf(stage.oracle, { qpos: pose.qpos }, w, shift);
    expect(found.length).toBeGreaterThanOrEqual(CONTACT_FLOATS);
    expect(Math.hypot(found[1] - places[w][0], found[2] - places[w][1])).toBeLessThan(drawnPlace.value);
    expect(Math.abs(found[3] - places[w][2] + RADIUS)).toBeLessThan(drawnPlace.value);
  });

  const root = mkdtempSync(join(tmpdir(), "corral-terrain-drawn-"));
  try {
    const path = join(root, "balls.npz");
    writeFileSync(path, await recordEpisodes(env, () => new Float64Array(WORLDS), { seed: 1 }));
    const recorded = recordedPoses(readRecording(path), 0, WORLDS);
    expect(recorded.map(({ ground: at }) => Array.from(at!))).toEqual(worlds.map(({ ground: at }) => Array.from(at!)));
  } finally {
    rmSync(root, { recursive: true });
  }
});

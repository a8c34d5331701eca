import { readBundle } from "../src/record/bundle.ts";
import { bisect } from "../src/forensics/bisect.ts";
import { replay } from "../src/forensics/replay.ts";
import { crashScene } from "../src/forensics/scene.ts";
import { secondOpinion } from "../src/forensics/second_opinion.ts";
import { PLANTS, PLANTED_AT, STEPS, makePlant } from "./support/crashes.ts";
process.env.CORRAL_BUNDLES = "/tmp/cb";
const [dev, numEnvs, only] = process.argv.slice(2);
for (const plant of PLANTS) {
  if (only && plant.name !== only) continue;
  const device = dev === "gpu" ? {} : { device: dev as "cpu" };
  if (dev !== "gpu" && plant.gpuOnly) continue;
  const t0 = Date.now();
  const N = Number(numEnvs);
  const worlds = [3, N >> 1, N - 5];
  await using env = await makePlant(plant, worlds, { numEnvs: N, seed: 1, ...device });
  await env.reset();
  for (let t = 1; t <= STEPS; t++) {
    const onGpu = plant.gpuOnly && t === PLANTED_AT;
    if (t === PLANTED_AT) await plant.plant?.(env, worlds);
    await env.step(
      onGpu
        ? env.gpu!.actions
        : new Float32Array(N * env.singleActionSpace.size).fill(
            plant.name === "zero inertia" && t >= PLANTED_AT ? 1 : 0,
          ),
    );
  }
  const t1 = Date.now();
  const h = env.health();
  console.log(
    "==",
    plant.name,
    Object.entries(h.byStatus).map(([k, v]) => `${k} ${v.count} first ${v.first.step} ids ${v.ids}`),
    h.byTerm && Object.keys(h.byTerm),
    h.notWritten,
  );
  for (const path of h.bundles.slice(0, 1)) {
    const b = readBundle(path);
    const r = await replay(b);
    const s = await bisect(b);
    const o = await secondOpinion(await crashScene(b), s);
    console.log(
      r.identical,
      r.steps,
      s.step,
      s.status.join(),
      `p${s.blame?.physicsStep} dev${s.devicePhysicsStep} ${s.agrees}`,
      s.blame?.stage,
      s.blame?.text,
      s.blame?.value,
      s.blame?.op,
      s.blame?.operands.slice(0, 3),
    );
    for (const c of s.causes) console.log("  cause", c.name, c.certainty, c.text);
    console.log("  ", o.verdict, o.text);
    const ok =
      s.status.includes(plant.status) &&
      plant.stage.test(s.blame?.stage ?? "") &&
      plant.field.test(s.blame?.field ?? "") &&
      s.causes[0]?.name === plant.cause &&
      o.verdict === plant.verdict;
    console.log("  ", ok ? "OK" : "NOT OK", t1 - t0, Date.now() - t1);
  }
}

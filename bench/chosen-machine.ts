// the machine and the device that a measurement takes where it names none
import { chooseDevice } from "../src/batch/devices.ts";
import { machineFacts, type MachineFacts } from "../src/bench/machine.ts";
import { openDevice } from "../src/gpu/index.ts";

/** Facts of this machine with the driver of the device that environments are made on, or `wasm`: see CORRAL_DEVICE. */
export async function chosenMachine(): Promise<MachineFacts> {
  const device = await chooseDevice({});
  if (typeof device === "string" && device !== "gpu") return machineFacts(device);
  using gpu = await openDevice();
  return machineFacts(gpu.info.driver);
}

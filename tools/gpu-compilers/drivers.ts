// Vulkan drivers that install.sh unpacks and builds, as variables of a process that is to find no other
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Where install.sh unpacks. */
export const COMPILERS = fileURLToPath(new URL("../../.cache/gpu-compilers", import.meta.url));
const LIBRARIES = join(COMPILERS, "mesa/usr/lib/x86_64-linux-gnu");
const NULL_DRIVER = join(COMPILERS, "null-driver.so");

/** The chip that AMD's compiler compiles for: Radeon RX 7900 XTX. */
export const AMD_CHIP = "navi31";

type Variables = Readonly<Record<string, string>>;

/** A driver's library, by a manifest in a folder. */
function alone(folder: string, library_path: string): Variables {
  const manifest = join(folder, "icd.json");
  writeFileSync(
    manifest,
    JSON.stringify({ ICD: { api_version: "1.4.305", library_path }, file_format_version: "1.0.0" }),
  );
  return {
    LD_LIBRARY_PATH: LIBRARIES,
    VK_ICD_FILENAMES: manifest,
    VK_DRIVER_FILES: manifest,
    MESA_SHADER_CACHE_DISABLE: "true",
    XDG_RUNTIME_DIR: folder,
  };
}

/** AMD's, which compiles and executes nothing: statistics go to log.jsonl of `folder`, modules to `spirv`. */
export const amd = (folder: string, spirv: string): Variables => ({
  ...alone(folder, NULL_DRIVER),
  NULL_DRIVER_OF: join(LIBRARIES, "libvulkan_radeon.so"),
  NULL_DRIVER_LOG: join(folder, "log.jsonl"),
  NULL_DRIVER_SPIRV: spirv,
  RADV_FORCE_FAMILY: AMD_CHIP,
});

/** Mesa's on the CPU, whose LLVM optimises nothing; `exact`: in the order of operations of each kernel. */
export function lavapipe(folder: string, exact: boolean): Variables {
  const library = join(LIBRARIES, "libvulkan_lvp.so");
  return {
    ...alone(folder, exact ? NULL_DRIVER : library),
    ...(exact && { NULL_DRIVER_OF: library, NULL_DRIVER_EXACT: "1" }),
    GALLIVM_PERF: "nopt",
    CORRAL_ADAPTER: "system",
  };
}

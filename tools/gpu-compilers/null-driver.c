// A Vulkan driver that stands before another one and executes nothing: commands and submissions are accepted and dropped,
// memory and pipelines are the real driver's. Before Mesa's RADV with its null winsys (RADV_FORCE_FAMILY=navi31) any WebGPU
// or Vulkan program compiles for a GPU that is not there. What the compiler says of each compute pipeline is appended to a
// file, one JSON line each.
//   NULL_DRIVER_OF  path of the driver's library
//   NULL_DRIVER_LOG     file for statistics (VK_KHR_pipeline_executable_properties)
//   NULL_DRIVER_SPIRV   folder for the modules, named by the number of the pipeline (optional)
//   NULL_DRIVER_IR      folder for the driver's internal representations, the ISA among them (optional)
//   NULL_DRIVER_EXECUTE set: commands are passed on (before a driver that can run them, to see statistics or SPIR-V only)
//   NULL_DRIVER_EXACT   set: all is passed on, and modules say of each float operation that it may not be contracted, nor
//                       computed in another order (before a driver that runs them, to see the bits of a program's own order)
//   gcc -O1 -shared -fPIC -o null-driver.so null-driver.c -ldl
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <pthread.h>
#include <vulkan/vulkan.h>
#include <vulkan/vk_icd.h>

#define EXPORT __attribute__((visibility("default")))
#define NEXT(device, name) ((PFN_##name)next_device_proc(device, #name))

static PFN_vkGetInstanceProcAddr next_instance_proc;
static PFN_vkGetDeviceProcAddr next_device_proc;
static int execute, exact;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int pipelines;

// modules by handle, so that a pipeline's code can be written out
typedef struct Code { VkShaderModule module; size_t size; uint32_t *words; struct Code *next; } Code;
static Code *codes;

static void load_driver(void) {
  if (next_instance_proc) return;
  const char *path = getenv("NULL_DRIVER_OF");
  void *lib = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : 0;
  if (!lib) { fprintf(stderr, "null-driver: NULL_DRIVER_OF: %s\n", path ? dlerror() : "not set"); abort(); }
  execute = getenv("NULL_DRIVER_EXECUTE") != 0;
  exact = getenv("NULL_DRIVER_EXACT") != 0;
  VkResult (*negotiate)(uint32_t *) = dlsym(lib, "vk_icdNegotiateLoaderICDInterfaceVersion");
  uint32_t version = 5;
  if (negotiate) negotiate(&version);
  next_instance_proc = (PFN_vkGetInstanceProcAddr)dlsym(lib, "vk_icdGetInstanceProcAddr");
}

static VkResult succeed(void) { return VK_SUCCESS; }

static VkResult create_device(VkPhysicalDevice phys, const VkDeviceCreateInfo *ci, const VkAllocationCallbacks *a, VkDevice *out);
enum { OP_DECORATE = 71, NO_CONTRACTION = 42, FIRST_TYPE = 19, LAST_TYPE = 39, FIRST_CONSTANT = 41, LAST_CONSTANT = 46 };

/** Negation, sum, difference, product, quotient, remainders, scaling of vectors, dot product. */
static int is_float_operation(uint32_t op) {
  return op == 127 || op == 129 || op == 131 || op == 133 || op == 136 || op == 140 || op == 141 || op == 142 || op == 148;
}

static VkResult create_exact_module(VkDevice d, const VkShaderModuleCreateInfo *ci, const VkAllocationCallbacks *a, VkShaderModule *out) {
  const uint32_t *words = ci->pCode, count = ci->codeSize / 4;
  // after the header of five words, names and decorations come before the first type
  uint32_t types = 5;
  for (; types < count; types += words[types] >> 16) {
    uint32_t op = words[types] & 0xffff;
    if ((op >= FIRST_TYPE && op <= LAST_TYPE) || (op >= FIRST_CONSTANT && op <= LAST_CONSTANT)) break;
  }
  uint32_t *mine = malloc(4 * ci->codeSize), n = types;
  memcpy(mine, words, 4 * types);
  for (uint32_t i = types; i < count; i += words[i] >> 16)
    if (is_float_operation(words[i] & 0xffff)) {
      mine[n++] = 3u << 16 | OP_DECORATE;
      mine[n++] = words[i + 2];
      mine[n++] = NO_CONTRACTION;
    }
  memcpy(mine + n, words + types, 4 * (count - types));
  VkShaderModuleCreateInfo decorated = *ci;
  decorated.pCode = mine;
  decorated.codeSize = 4 * (n + count - types);
  VkResult r = NEXT(d, vkCreateShaderModule)(d, &decorated, a, out);
  free(mine);
  return r;
}

static VkResult create_module(VkDevice d, const VkShaderModuleCreateInfo *ci, const VkAllocationCallbacks *a, VkShaderModule *out) {
  VkResult r = NEXT(d, vkCreateShaderModule)(d, ci, a, out);
  if (r == VK_SUCCESS) {
    Code *c = malloc(sizeof *c);
    *c = (Code){*out, ci->codeSize, malloc(ci->codeSize), 0};
    memcpy(c->words, ci->pCode, ci->codeSize);
    pthread_mutex_lock(&lock);
    c->next = codes;
    codes = c;
    pthread_mutex_unlock(&lock);
  }
  return r;
}

static void dump(const char *variable, int number, const char *suffix, const void *data, size_t size) {
  const char *folder = getenv(variable);
  if (!folder) return;
  char path[1024];
  snprintf(path, sizeof path, "%s/%04d.%s", folder, number, suffix);
  FILE *f = fopen(path, "wb");
  if (!f) { perror(path); return; }
  fwrite(data, 1, size, f);
  fclose(f);
}

static void log_pipeline(VkDevice d, const VkComputePipelineCreateInfo *ci, VkPipeline pipeline, int number, double seconds) {
  const char *path = getenv("NULL_DRIVER_LOG");
  FILE *f = path ? fopen(path, "a") : 0;
  if (!f) return;
  fprintf(f, "{\"pipeline\":%d,\"entry\":\"%s\",\"compile_s\":%.3f", number, ci->stage.pName, seconds);
  // what the program asks for
  for (const VkBaseInStructure *p = ci->stage.pNext; p; p = p->pNext)
    if (p->sType == VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO)
      fprintf(f, ",\"required_subgroup_size\":%u", ((const VkPipelineShaderStageRequiredSubgroupSizeCreateInfo *)p)->requiredSubgroupSize);
  if (ci->stage.flags & VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT) fprintf(f, ",\"full_subgroups\":true");
  VkPipelineInfoKHR pi = {.sType = VK_STRUCTURE_TYPE_PIPELINE_INFO_KHR, .pipeline = pipeline};
  VkPipelineExecutablePropertiesKHR ex = {.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_PROPERTIES_KHR};
  uint32_t n = 1;
  NEXT(d, vkGetPipelineExecutablePropertiesKHR)(d, &pi, &n, &ex);
  fprintf(f, ",\"subgroup_size\":%u", ex.subgroupSize);
  VkPipelineExecutableInfoKHR ei = {.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR, .pipeline = pipeline};
  VkPipelineExecutableStatisticKHR st[64];
  n = 64;
  memset(st, 0, sizeof st);
  for (uint32_t i = 0; i < n; i++) st[i].sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR;
  NEXT(d, vkGetPipelineExecutableStatisticsKHR)(d, &ei, &n, st);
  for (uint32_t i = 0; i < n; i++)
    switch (st[i].format) {
      case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_BOOL32_KHR: fprintf(f, ",\"%s\":%s", st[i].name, st[i].value.b32 ? "true" : "false"); break;
      case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_FLOAT64_KHR: fprintf(f, ",\"%s\":%g", st[i].name, st[i].value.f64); break;
      default: fprintf(f, ",\"%s\":%lld", st[i].name, (long long)st[i].value.i64);
    }
  fprintf(f, "}\n");
  fclose(f);

  if (!getenv("NULL_DRIVER_IR")) return;
  VkPipelineExecutableInternalRepresentationKHR ir[16];
  memset(ir, 0, sizeof ir);
  for (int i = 0; i < 16; i++) ir[i].sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INTERNAL_REPRESENTATION_KHR;
  PFN_vkGetPipelineExecutableInternalRepresentationsKHR get = NEXT(d, vkGetPipelineExecutableInternalRepresentationsKHR);
  n = 16;
  get(d, &ei, &n, ir);
  for (uint32_t i = 0; i < n; i++) ir[i].pData = malloc(ir[i].dataSize + 1);
  get(d, &ei, &n, ir);
  for (uint32_t i = 0; i < n; i++) {
    char suffix[VK_MAX_DESCRIPTION_SIZE + 8];
    snprintf(suffix, sizeof suffix, "%s.txt", ir[i].name);
    for (char *c = suffix; *c; c++) if (*c == ' ' || *c == '/') *c = '_';
    dump("NULL_DRIVER_IR", number, suffix, ir[i].pData, strnlen(ir[i].pData, ir[i].dataSize));
    free(ir[i].pData);
  }
}

static VkResult create_pipelines(VkDevice d, VkPipelineCache cache, uint32_t n, const VkComputePipelineCreateInfo *ci,
                                 const VkAllocationCallbacks *a, VkPipeline *out) {
  for (uint32_t i = 0; i < n; i++) {
    VkComputePipelineCreateInfo mine = ci[i];
    mine.flags |= VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR;
    if (getenv("NULL_DRIVER_IR")) mine.flags |= VK_PIPELINE_CREATE_CAPTURE_INTERNAL_REPRESENTATIONS_BIT_KHR;
    // before it is compiled, which may be ended by a limit
    pthread_mutex_lock(&lock);
    int number = pipelines++;
    for (Code *c = codes; c; c = c->next)
      if (c->module == mine.stage.module) { dump("NULL_DRIVER_SPIRV", number, "spv", c->words, c->size); break; }
    pthread_mutex_unlock(&lock);
    struct timespec t0, t1;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t0);
    VkResult r = NEXT(d, vkCreateComputePipelines)(d, cache, 1, &mine, a, &out[i]);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t1);
    if (r != VK_SUCCESS) return r;
    pthread_mutex_lock(&lock);
    log_pipeline(d, &mine, out[i], number, t1.tv_sec - t0.tv_sec + (t1.tv_nsec - t0.tv_nsec) * 1e-9);
    pthread_mutex_unlock(&lock);
  }
  return VK_SUCCESS;
}

static PFN_vkVoidFunction device_proc(VkDevice d, const char *name);

/** Ours, or null. */
static PFN_vkVoidFunction ours(const char *name) {
  static const char *const dropped[] = {
      "vkBeginCommandBuffer", "vkEndCommandBuffer", "vkResetCommandBuffer", "vkResetCommandPool", "vkDestroyCommandPool", "vkFreeCommandBuffers", "vkQueueSubmit",
      "vkQueueSubmit2", "vkQueueSubmit2KHR", "vkQueueWaitIdle", "vkDeviceWaitIdle", "vkWaitForFences", "vkGetFenceStatus",
      "vkResetFences", "vkGetQueryPoolResults", "vkQueueBindSparse", "vkWaitSemaphores", "vkWaitSemaphoresKHR"};
  if (!strcmp(name, "vkGetDeviceProcAddr")) return (PFN_vkVoidFunction)device_proc;
  if (exact) return strcmp(name, "vkCreateShaderModule") ? 0 : (PFN_vkVoidFunction)create_exact_module;
  if (!strcmp(name, "vkCreateDevice")) return (PFN_vkVoidFunction)create_device;
  if (!strcmp(name, "vkCreateShaderModule")) return (PFN_vkVoidFunction)create_module;
  if (!strcmp(name, "vkCreateComputePipelines")) return (PFN_vkVoidFunction)create_pipelines;
  if (execute) return 0;
  if (!strncmp(name, "vkCmd", 5)) return (PFN_vkVoidFunction)succeed;
  for (size_t i = 0; i < sizeof dropped / sizeof *dropped; i++)
    if (!strcmp(name, dropped[i])) return (PFN_vkVoidFunction)succeed;
  return 0;
}

static PFN_vkVoidFunction device_proc(VkDevice d, const char *name) {
  PFN_vkVoidFunction real = next_device_proc(d, name), mine = ours(name);
  return real && mine ? mine : real;
}

static VkInstance the_instance;

static VkResult create_device(VkPhysicalDevice phys, const VkDeviceCreateInfo *ci, const VkAllocationCallbacks *a, VkDevice *out) {
  VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR pe = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR, .pNext = (void *)ci->pNext,
      .pipelineExecutableInfo = 1};
  VkDeviceCreateInfo mine = *ci;
  const char **names = malloc((ci->enabledExtensionCount + 1) * sizeof *names);
  memcpy(names, ci->ppEnabledExtensionNames, ci->enabledExtensionCount * sizeof *names);
  names[mine.enabledExtensionCount++] = VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME;
  mine.ppEnabledExtensionNames = names;
  mine.pNext = &pe;
  VkResult r = ((PFN_vkCreateDevice)next_instance_proc(the_instance, "vkCreateDevice"))(phys, &mine, a, out);
  free(names);
  return r;
}

static VkResult create_instance(const VkInstanceCreateInfo *ci, const VkAllocationCallbacks *a, VkInstance *out) {
  VkResult r = ((PFN_vkCreateInstance)next_instance_proc(0, "vkCreateInstance"))(ci, a, out);
  if (r == VK_SUCCESS) {
    the_instance = *out;
    next_device_proc = (PFN_vkGetDeviceProcAddr)next_instance_proc(*out, "vkGetDeviceProcAddr");
  }
  return r;
}

EXPORT PFN_vkVoidFunction vk_icdGetInstanceProcAddr(VkInstance instance, const char *name) {
  load_driver();
  if (!strcmp(name, "vkCreateInstance")) return (PFN_vkVoidFunction)create_instance;
  if (!strcmp(name, "vkGetInstanceProcAddr")) return (PFN_vkVoidFunction)vk_icdGetInstanceProcAddr;
  PFN_vkVoidFunction real = next_instance_proc(instance, name), mine = ours(name);
  return real && mine ? mine : real;
}

EXPORT PFN_vkVoidFunction vk_icdGetPhysicalDeviceProcAddr(VkInstance instance, const char *name) {
  load_driver();
  // physical device functions are never ours, but for vkCreateDevice
  static const char *const physical[] = {"vkGetPhysicalDevice", "vkEnumerateDevice", "vkCreateDevice"};
  for (int i = 0; i < 3; i++)
    if (!strncmp(name, physical[i], strlen(physical[i]))) return vk_icdGetInstanceProcAddr(instance, name);
  return 0;
}

EXPORT VkResult vk_icdNegotiateLoaderICDInterfaceVersion(uint32_t *version) {
  load_driver();
  if (*version > 5) *version = 5;
  return VK_SUCCESS;
}

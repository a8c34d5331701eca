#!/usr/bin/env python3
"""What NVIDIA's compiler makes of SPIR-V compute shaders, without a GPU: one line of JSON a file.

  nvidia.py [--arch 90] [--maxreg N] [--sass DIR] FILE.spv ...
CUDA C through libnvrtc (nvidia-cuda-nvrtc-cu12), ptxas (nvidia-cuda-nvcc-cu12), nvdisasm (nvidia-cuda-nvdisasm): wheels
unpacked under NV_ROOT. Files end in .spv, or in .cu (then compiled as they are, entry point `kernel`).
"""
import argparse, collections, ctypes, glob, json, os, re, resource, subprocess, sys, tempfile, time
from spirv_to_cuda import translate

ROOT = os.environ.get('NV_ROOT', os.path.join(os.path.dirname(os.path.abspath(__file__)), 'nv'))


def find(pattern):
    found = sorted(glob.glob(os.path.join(ROOT, '**', pattern), recursive=True))
    if not found: raise SystemExit(f'no {pattern} under {ROOT}: run install.sh')
    return found[0]


def ptx_of(source: str, arch: int) -> str:
    ctypes.CDLL(find('libnvrtc-builtins.so.*'), mode=ctypes.RTLD_GLOBAL)
    rtc = ctypes.CDLL(find('libnvrtc.so.*'))
    prog = ctypes.c_void_p()
    rtc.nvrtcCreateProgram(ctypes.byref(prog), source.encode(), b'kernel.cu', 0, None, None)
    # Vulkan's precision: division of 2.5 ULP, denormals flushed, contraction allowed
    options = [f'--gpu-architecture=compute_{arch}', '--std=c++17', '--prec-div=false', '--prec-sqrt=false', '--ftz=true', '-w']
    args = (ctypes.c_char_p * len(options))(*[o.encode() for o in options])
    status = rtc.nvrtcCompileProgram(prog, len(options), args)
    size = ctypes.c_size_t()
    if status:
        rtc.nvrtcGetProgramLogSize(prog, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        rtc.nvrtcGetProgramLog(prog, log)
        raise RuntimeError(log.value.decode()[:2000])
    rtc.nvrtcGetPTXSize(prog, ctypes.byref(size))
    ptx = ctypes.create_string_buffer(size.value)
    rtc.nvrtcGetPTX(prog, ptx)
    return ptx.value.decode()


KINDS = [('ffma', r'^(FFMA|FMUL|FADD)'), ('local_load', r'^LDL'), ('local_store', r'^STL'), ('global', r'^(LDG|STG|LD\.|ST\.)'),
         ('const_load', r'^(LDC|ULDC)'), ('shared', r'^(LDS|STS)'), ('mufu', r'^MUFU'), ('select', r'^(SEL|FSEL|FSETP|ISETP|FMNMX|IMNMX|FSET|ISET|VIMNMX)'),
         ('int', r'^(IADD|IMAD|LEA|LOP|SHF|IABS|UIADD|UIMAD|ULOP|USHF)'), ('branch', r'^(BRA|BSSY|BSYNC|BREAK|EXIT|WARPSYNC|YIELD|CALL|RET|BRX)'), ('mov', r'^(MOV|UMOV|CS2R|S2R|R2UR|PRMT)')]


def stats(path, arch, maxreg, sass):
    name = os.path.splitext(os.path.basename(path))[0]
    t0 = time.time()
    source = open(path).read() if path.endswith('.cu') else translate(open(path, 'rb').read(), bounds=not maxreg)
    ptx = ptx_of(source, arch)
    t1 = time.time()
    spent = lambda: resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    c0 = spent()
    with tempfile.TemporaryDirectory() as d:
        open(f'{d}/k.ptx', 'w').write(ptx)
        cmd = [find('ptxas'), f'-arch=sm_{arch}', '-v', '-O3', f'{d}/k.ptx', '-o', f'{d}/k.cubin'] + ([f'--maxrregcount={maxreg}'] if maxreg else [])
        p = subprocess.run(cmd, capture_output=True, text=True)
        if p.returncode < 0: return dict(name=name, limited=True)
        if p.returncode: raise RuntimeError(p.stderr[:2000])
        c1 = spent()
        info = p.stderr
        number = lambda r: int(m.group(1)) if (m := re.search(r, info)) else 0
        row = dict(name=name, arch=arch, maxreg=maxreg, registers=number(r'Used (\d+) registers'), stack=number(r'(\d+) bytes stack frame'),
                   spill_stores=number(r'(\d+) bytes spill stores'), spill_loads=number(r'(\d+) bytes spill loads'),
                   nvrtc_s=round(t1 - t0, 2), ptxas_s=round(c1 - c0, 2), ptx_lines=ptx.count('\n'))
        text = subprocess.run([find('nvdisasm'), '-c', f'{d}/k.cubin'], capture_output=True, text=True).stdout
        ops = re.findall(r'^\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_.]*)', text, re.M)
        while ops and ops[-1] in ('NOP', 'BRA'): ops.pop()
        row['instructions'] = len(ops)
        row['code_bytes'] = 16 * len(ops)
        for kind, r in KINDS: row[kind] = sum(1 for o in ops if re.match(r, o))
        row['mix'] = dict(collections.Counter(o.split('.')[0] for o in ops).most_common(14))
        if sass: open(os.path.join(sass, f'{name}.sm{arch}.sass'), 'w').write(text)
    return row


if __name__ == '__main__':
    p = argparse.ArgumentParser()
    p.add_argument('--arch', type=int, default=90)
    p.add_argument('--maxreg', type=int, default=0)
    p.add_argument('--sass')
    p.add_argument('files', nargs='+')
    a = p.parse_args()
    for f in a.files:
        try: print(json.dumps(stats(f, a.arch, a.maxreg, a.sass)), flush=True)
        except (RuntimeError, NotImplementedError) as e: print(f'{f}: {e}', file=sys.stderr)

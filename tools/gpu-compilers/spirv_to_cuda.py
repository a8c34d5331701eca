#!/usr/bin/env python3
"""Translates a SPIR-V compute shader (as Dawn's Tint or naga writes it) into CUDA C, to see what NVIDIA's compiler makes of it.

For looking at registers, spills and code size; not for running: buffers have no bounds, and names of no use are dropped.
  spirv_to_cuda.py FILE.spv > FILE.cu
"""
import struct, sys

PRELUDE = r'''
typedef unsigned int u32;
template<class T, int N> struct vec { T v[N]; };
template<class T> struct __align__(8) vec<T, 2> { T v[2]; };
template<class T> struct __align__(16) vec<T, 4> { T v[4]; };
template<class T, int N> struct arr { T v[N]; };
#define DEV static __device__ __forceinline__
template<class R, class S> DEV R bits(S s) { union U { R r; S s; __device__ U() {} } u; u.s = s; return u.r; }
template<class T> struct scalar_of { typedef T type; };
template<class T, int N> struct scalar_of<vec<T, N>> { typedef T type; };
#define BIN(name, R, expr) \
  template<class T> DEV R name##_(T a, T b) { return expr; } \
  template<class T> DEV auto name(T a, T b) { return name##_(a, b); } \
  template<class T, int N> DEV auto name(vec<T, N> a, vec<T, N> b) { vec<decltype(name##_(a.v[0], b.v[0])), N> r; for (int i = 0; i < N; i++) r.v[i] = name##_(a.v[i], b.v[i]); return r; }
#define UN(name, R, expr) \
  template<class T> DEV R name##_(T a) { return expr; } \
  template<class T> DEV auto name(T a) { return name##_(a); } \
  template<class T, int N> DEV auto name(vec<T, N> a) { vec<decltype(name##_(a.v[0])), N> r; for (int i = 0; i < N; i++) r.v[i] = name##_(a.v[i]); return r; }
BIN(op_add, T, a + b) BIN(op_sub, T, a - b) BIN(op_mul, T, a * b) BIN(op_div, T, a / b) BIN(op_mod, T, a % b) BIN(op_frem, T, fmodf(a, b))
BIN(op_lt, bool, a < b) BIN(op_le, bool, a <= b) BIN(op_gt, bool, a > b) BIN(op_ge, bool, a >= b) BIN(op_eq, bool, a == b) BIN(op_ne, bool, a != b)
BIN(op_and, T, (T)(a & b)) BIN(op_or, T, (T)(a | b)) BIN(op_xor, T, (T)(a ^ b)) BIN(op_shl, T, a << (b & 31)) BIN(op_shr, T, a >> (b & 31))
BIN(op_min, T, a < b ? a : b) BIN(op_max, T, a > b ? a : b) BIN(op_fmin, T, fminf(a, b)) BIN(op_fmax, T, fmaxf(a, b)) BIN(op_pow, T, powf(a, b)) BIN(op_atan2, T, atan2f(a, b))
BIN(op_ulshr, T, (T)((u32)a >> (b & 31)))
UN(op_neg, T, -a) UN(op_lnot, bool, !a) UN(op_not, T, ~a) UN(op_fabs, T, fabsf(a)) UN(op_abs, T, a < 0 ? -a : a) UN(op_sqrt, T, sqrtf(a)) UN(op_rsqrt, T, rsqrtf(a))
UN(op_round, T, rintf(a)) UN(op_trunc, T, truncf(a)) UN(op_floor, T, floorf(a)) UN(op_ceil, T, ceilf(a)) UN(op_fract, T, a - floorf(a)) UN(op_fsign, T, a > 0 ? 1.f : a < 0 ? -1.f : 0.f)
UN(op_ssign, T, a > 0 ? 1 : a < 0 ? -1 : 0) UN(op_exp, T, expf(a)) UN(op_exp2, T, exp2f(a)) UN(op_log, T, logf(a)) UN(op_log2, T, log2f(a)) UN(op_sin, T, sinf(a)) UN(op_cos, T, cosf(a)) UN(op_tan, T, tanf(a))
UN(op_asin, T, asinf(a)) UN(op_acos, T, acosf(a)) UN(op_atan, T, atanf(a)) UN(op_tanh, T, tanhf(a)) UN(op_isnan, bool, a != a) UN(op_isinf, bool, isinf(a))
UN(op_lsb, T, (T)(__ffs((int)a) - 1)) UN(op_msb, T, (T)(31 - __clz((int)a))) UN(op_popc, T, (T)__popc((u32)a)) UN(op_brev, T, (T)__brev((u32)a))
UN(to_f, float, (float)a) UN(to_i, int, (int)a) UN(to_u, u32, (u32)a)
template<class T> DEV T op_sel(bool c, T a, T b) { return c ? a : b; }
template<class T, int N> DEV vec<T, N> op_sel(vec<bool, N> c, vec<T, N> a, vec<T, N> b) { vec<T, N> r; for (int i = 0; i < N; i++) r.v[i] = c.v[i] ? a.v[i] : b.v[i]; return r; }
template<class T> DEV T op_fma(T a, T b, T c) { return fmaf(a, b, c); }
template<class T, int N> DEV vec<T, N> op_fma(vec<T, N> a, vec<T, N> b, vec<T, N> c) { vec<T, N> r; for (int i = 0; i < N; i++) r.v[i] = fmaf(a.v[i], b.v[i], c.v[i]); return r; }
template<class T> DEV T op_clamp(T a, T b, T c) { return op_min(op_max(a, b), c); }
template<class T> DEV T op_mix(T a, T b, T c) { return op_add(op_mul(a, op_sub(T{1}, c)), op_mul(b, c)); }
template<class T, int N> DEV vec<T, N> op_vs(vec<T, N> a, T b) { for (int i = 0; i < N; i++) a.v[i] *= b; return a; }
template<class T, int N> DEV T op_dot(vec<T, N> a, vec<T, N> b) { T r = a.v[0] * b.v[0]; for (int i = 1; i < N; i++) r += a.v[i] * b.v[i]; return r; }
template<int N> DEV bool op_any(vec<bool, N> a) { bool r = false; for (int i = 0; i < N; i++) r |= a.v[i]; return r; }
template<int N> DEV bool op_all(vec<bool, N> a) { bool r = true; for (int i = 0; i < N; i++) r &= a.v[i]; return r; }
template<class R> DEV R umulx(u32 a, u32 b) { R r; unsigned long long p = (unsigned long long)a * b; r.m0 = (u32)p; r.m1 = (u32)(p >> 32); return r; }
template<class T> DEV T wave_add(T x) { for (int d = 16; d; d >>= 1) x = x + __shfl_xor_sync(~0u, x, d); return x; }
template<class T> DEV T wave_min(T x) { for (int d = 16; d; d >>= 1) x = op_min(x, __shfl_xor_sync(~0u, x, d)); return x; }
template<class T> DEV T wave_max(T x) { for (int d = 16; d; d >>= 1) x = op_max(x, __shfl_xor_sync(~0u, x, d)); return x; }
'''

BINARY = {128: 'op_add', 129: 'op_add', 130: 'op_sub', 131: 'op_sub', 132: 'op_mul', 133: 'op_mul', 134: 'op_div', 135: 'op_div',
          136: 'op_div', 137: 'op_mod', 138: 'op_mod', 139: 'op_mod', 140: 'op_frem', 141: 'op_frem', 142: 'op_vs', 148: 'op_dot',
          164: 'op_eq', 165: 'op_ne', 166: 'op_or', 167: 'op_and', 170: 'op_eq', 171: 'op_ne', 172: 'op_gt', 173: 'op_gt', 174: 'op_ge',
          175: 'op_ge', 176: 'op_lt', 177: 'op_lt', 178: 'op_le', 179: 'op_le', 180: 'op_eq', 181: 'op_eq', 182: 'op_ne', 183: 'op_ne',
          184: 'op_lt', 185: 'op_lt', 186: 'op_gt', 187: 'op_gt', 188: 'op_le', 189: 'op_le', 190: 'op_ge', 191: 'op_ge',
          194: 'op_ulshr', 195: 'op_shr', 196: 'op_shl', 197: 'op_or', 198: 'op_xor', 199: 'op_and'}
UNARY = {109: 'to_u', 110: 'to_i', 111: 'to_f', 112: 'to_f', 126: 'op_neg', 127: 'op_neg', 154: 'op_any', 155: 'op_all', 156: 'op_isnan',
         157: 'op_isinf', 168: 'op_lnot', 200: 'op_not', 204: 'op_brev', 205: 'op_popc', 83: ''}
EXT = {1: 'op_round', 2: 'op_round', 3: 'op_trunc', 4: 'op_fabs', 5: 'op_abs', 6: 'op_fsign', 7: 'op_ssign', 8: 'op_floor', 9: 'op_ceil',
       10: 'op_fract', 13: 'op_sin', 14: 'op_cos', 15: 'op_tan', 16: 'op_asin', 17: 'op_acos', 18: 'op_atan', 21: 'op_tanh',
       25: 'op_atan2', 26: 'op_pow', 27: 'op_exp', 28: 'op_log', 29: 'op_exp2', 30: 'op_log2', 31: 'op_sqrt', 32: 'op_rsqrt',
       37: 'op_fmin', 38: 'op_min', 39: 'op_min', 40: 'op_fmax', 41: 'op_max', 42: 'op_max', 43: 'op_clamp', 44: 'op_clamp', 45: 'op_clamp',
       46: 'op_mix', 50: 'op_fma', 73: 'op_lsb', 74: 'op_msb', 75: 'op_msb', 79: 'op_fmin', 80: 'op_fmax', 81: 'op_clamp'}
SIGNED = {134: 'u32', 135: 'int', 137: 'u32', 138: 'int', 139: 'int', 172: 'u32', 174: 'u32', 176: 'u32', 178: 'u32', 173: 'int',
          175: 'int', 177: 'int', 179: 'int'}
GLOBAL = {'GlobalInvocationId': 'vec<u32,3>{blockIdx.x*blockDim.x+threadIdx.x, blockIdx.y*blockDim.y+threadIdx.y, blockIdx.z*blockDim.z+threadIdx.z}'}
BUILTIN = {28: GLOBAL['GlobalInvocationId'], 27: 'vec<u32,3>{threadIdx.x, threadIdx.y, threadIdx.z}', 26: 'vec<u32,3>{blockIdx.x, blockIdx.y, blockIdx.z}',
           24: 'vec<u32,3>{gridDim.x, gridDim.y, gridDim.z}', 29: '(threadIdx.x + blockDim.x * threadIdx.y)', 36: '32u', 41: '(threadIdx.x & 31u)', 40: '(threadIdx.x >> 5)'}


def translate(data: bytes, name: str = 'kernel', bounds: bool = True) -> str:
    words = struct.unpack(f'<{len(data) // 4}I', data)
    code, at = [], 5
    while at < len(words):
        n = words[at] >> 16
        code.append((words[at] & 0xffff, words[at + 1:at + n]))
        at += n
    types, consts, text = {}, {}, {}
    structs, size, offsets, deco, globals_, typeof = [], (1, 1, 1), {}, {}, [], {}

    def measure(t):
        k = types[t]
        if k[0] == 'vec': return 4 * k[2], {2: 8, 3: 4, 4: 16}[k[2]]
        if k[0] == 'arr': s, a = measure(k[1]); return s * k[2], a
        if k[0] == 'rt': return measure(k[1])[0], measure(k[1])[1]
        if k[0] == 'struct': return k[2], 16
        return 4, 4

    def ctype(t):
        k = types[t]
        if k[0] == 'vec': return f'vec<{ctype(k[1])},{k[2]}>'
        if k[0] == 'arr': return f'arr<{ctype(k[1])},{k[2]}>'
        if k[0] == 'rt': return f'arr<{ctype(k[1])},1>'
        if k[0] == 'struct': return f'S{t}'
        if k[0] == 'ptr': return ctype(k[1]) + '&'
        return k[0]

    def val(i): return text.get(i, f'x{i}')

    def lvalue(base, indices):
        t, e = types[typeof[base]][1], val(base)
        for i in indices:
            k = types[t]
            if k[0] == 'struct': m = consts[i]; e, t = f'{e}.m{m}', k[1][m]
            elif k[0] == 'rt': e, t = f'(({ctype(k[1])}*)&{e})[{val(i)}]', k[1]
            else: e, t = f'{e}.v[{val(i)}]', k[1]
        return e, t

    def member(t, e, indices):
        for i in indices:
            k = types[t]
            if k[0] == 'struct': e, t = f'{e}.m{i}', k[1][i]
            else: e, t = f'{e}.v[{i}]', k[1]
        return e

    def literal(t, w):
        kind = types[t][0]
        if kind == 'float': return f'__int_as_float(0x{w:08x})'
        return f'{w}u' if kind == 'u32' else f'((int)0x{w:x}u)'

    def zero(t): return f'{ctype(t)}{{}}'

    entry = None
    for op, a in code:
        if op == 15: entry = a[1]
        elif op == 16 and a[1] == 17: size = a[2:5]
        elif op == 71: deco.setdefault(a[0], {})[a[1]] = a[2] if len(a) > 2 else 1
        elif op == 72 and a[2] == 35: offsets[(a[0], a[1])] = a[3]

    functions, heads, cur, body, decls, phis = [], [], None, None, None, {}
    # phis first: what each block hands on
    block = None
    for op, a in code:
        if op == 248: block = a[0]
        elif op == 245:
            for k in range(2, len(a), 2): phis.setdefault(a[k + 1], []).append((a[1], a[k]))

    def define(t, i, e):
        typeof[i] = t
        decls.append(f'{ctype(t)} x{i};')
        body.append(f'x{i} = {e};')

    def leave(b):
        for target, v in phis.get(b, []): body.append(f'p{target} = {val(v)};')

    for op, a in code:
        if op == 19: types[a[0]] = ('void',)
        elif op == 20: types[a[0]] = ('bool',)
        elif op == 21: types[a[0]] = ('int' if a[2] else 'u32',)
        elif op == 22: types[a[0]] = ('float',)
        elif op == 23: types[a[0]] = ('vec', a[1], a[2])
        elif op == 28: types[a[0]] = ('arr', a[1], consts[a[2]])
        elif op == 29: types[a[0]] = ('rt', a[1])
        elif op == 30:
            pos, fields = 0, []
            for m, t in enumerate(a[1:]):
                want = offsets.get((a[0], m), pos)
                s, al = measure(t)
                pos = -(-pos // al) * al
                if want > pos: fields.append(f'char pad{m}[{want - pos}];'); pos = want
                fields.append(f'{ctype(t)} m{m};')
                pos += s
            types[a[0]] = ('struct', a[1:], pos)
            structs.append(f'struct S{a[0]} {{ {" ".join(fields)} }};')
        elif op == 32: types[a[0]] = ('ptr', a[2], a[1])
        elif op == 33: types[a[0]] = ('fn', a[1], a[2:])
        elif op in (41, 48): text[a[1]] = 'true'; typeof[a[1]] = a[0]
        elif op in (42, 49): text[a[1]] = 'false'; typeof[a[1]] = a[0]
        elif op in (43, 50): consts[a[1]] = a[2]; text[a[1]] = literal(a[0], a[2]); typeof[a[1]] = a[0]
        elif op in (44, 51):
            typeof[a[1]] = a[0]
            inner = ', '.join(val(i) for i in a[2:])
            text[a[1]] = f'{ctype(a[0])}{{{inner}}}' if types[a[0]][0] == 'struct' else f'{ctype(a[0])}{{{{{inner}}}}}'
        elif op in (46, 1): typeof[a[1]] = a[0]; text[a[1]] = zero(a[0])
        elif op == 59:
            t, i, cls = a[0], a[1], a[2]
            typeof[i] = t
            inner = types[t][1]
            if cls == 2: globals_.append(f'__constant__ {ctype(inner)} x{i};')
            elif cls == 12:
                globals_.append(f'__constant__ {ctype(inner)}* b{i}; __constant__ u32 n{i};'); text[i] = f'(*b{i})'
            elif cls == 4: globals_.append(f'__shared__ {ctype(inner)} x{i};')
            elif cls == 1: text[i] = BUILTIN.get(deco.get(i, {}).get(11), zero(inner))
            elif cls == 6: globals_.append(f'static __device__ {ctype(inner)} x{i};')
            else:
                decls.append(f'{ctype(inner)} x{i};')
                if len(a) > 3: body.append(f'x{i} = {val(a[3])};')
        elif op == 54:
            cur, body, decls, params, ftype = a[1], [], [], [], a[0]
        elif op == 55:
            typeof[a[1]] = a[0]
            params.append(f'{ctype(a[0])} x{a[1]}')
        elif op == 56:
            limit = f'__launch_bounds__({size[0] * size[1] * size[2]}) ' if bounds else ''
            head = (f'extern "C" __global__ void {limit}{name}()'
                    if cur == entry else f'DEV {ctype(ftype)} f{cur}({", ".join(params)})')
            if cur != entry: heads.append(head + ';')
            functions.append('\n'.join([head + ' {', *decls, *body, '}']))
        elif op == 248: block = a[0]; body.append(f'L{block}:;')
        elif op == 245: typeof[a[1]] = a[0]; decls.append(f'{ctype(a[0])} p{a[1]}, x{a[1]};'); body.append(f'x{a[1]} = p{a[1]};')
        elif op == 249: leave(block); body.append(f'goto L{a[0]};')
        elif op == 250: leave(block); body.append(f'if ({val(a[0])}) goto L{a[1]}; else goto L{a[2]};')
        elif op == 251:
            leave(block)
            cases = ' '.join(f'case {a[k]}: goto L{a[k + 1]};' for k in range(2, len(a), 2))
            body.append(f'switch ({val(a[0])}) {{ {cases} default: goto L{a[1]}; }}')
        elif op == 253: body.append('return;')
        elif op == 254: body.append(f'return {val(a[0])};')
        elif op == 255: body.append('__builtin_unreachable();')
        elif op in (246, 247) or body is None: pass
        elif op == 61: define(a[0], a[1], val(a[2]))
        elif op == 62: body.append(f'{val(a[0])} = {val(a[1])};')
        elif op in (65, 66): e, _ = lvalue(a[2], a[3:]); text[a[1]] = f'{e}'; typeof[a[1]] = a[0]
        elif op == 68: define(a[0], a[1], f'n{a[2]}')
        elif op == 57:
            call = f'f{a[2]}({", ".join(val(i) for i in a[3:])})'
            if types[a[0]][0] == 'void': body.append(call + ';')
            else: define(a[0], a[1], call)
        elif op in SIGNED:
            s = SIGNED[op]
            k = types[typeof[a[2]]]
            cast = f'vec<{s},{k[2]}>' if k[0] == 'vec' else s
            e = f'{BINARY[op]}(bits<{cast}>({val(a[2])}), bits<{cast}>({val(a[3])}))'
            define(a[0], a[1], e if types[a[0]][0] in ('bool', 'vec') and op > 163 else f'bits<{ctype(a[0])}>({e})')
        elif op == 142: define(a[0], a[1], f'op_vs({val(a[2])}, {val(a[3])})')
        elif op in BINARY:
            t = ctype(typeof[a[2]])
            define(a[0], a[1], f'{BINARY[op]}({val(a[2])}, bits<{t}>({val(a[3])}))' if ctype(typeof[a[3]]) != t else f'{BINARY[op]}({val(a[2])}, {val(a[3])})')
        elif op in UNARY: define(a[0], a[1], f'{UNARY[op]}({val(a[2])})')
        elif op == 124: define(a[0], a[1], f'bits<{ctype(a[0])}>({val(a[2])})')
        elif op == 169: define(a[0], a[1], f'op_sel({val(a[2])}, {val(a[3])}, {val(a[4])})')
        elif op == 12:
            args = [val(i) for i in a[4:]]
            if a[3] not in EXT: raise NotImplementedError(f'GLSL.std.450 {a[3]}')
            define(a[0], a[1], f'{EXT[a[3]]}({", ".join(args)})')
        elif op == 77: define(a[0], a[1], f'{val(a[2])}.v[{val(a[3])}]')
        elif op == 78: define(a[0], a[1], val(a[2])); body.append(f'x{a[1]}.v[{val(a[4])}] = {val(a[3])};')
        elif op == 79:
            n = types[typeof[a[2]]][2]
            define(a[0], a[1], f'{ctype(a[0])}{{{{' + ', '.join(f'{val(a[2])}.v[{i}]' if i < n else f'{val(a[3])}.v[{i - n}]' for i in a[4:]) + '}}')
        elif op == 80:
            parts = []
            for i in a[2:]:
                k = types[typeof[i]]
                if types[a[0]][0] == 'vec' and k[0] == 'vec': parts += [f'{val(i)}.v[{j}]' for j in range(k[2])]
                else: parts.append(val(i))
            define(a[0], a[1], f'{ctype(a[0])}{{{", ".join(parts)}}}' if types[a[0]][0] == 'struct' else f'{ctype(a[0])}{{{{{", ".join(parts)}}}}}')
        elif op == 81: define(a[0], a[1], member(typeof[a[2]], val(a[2]), a[3:]))
        elif op == 82: define(a[0], a[1], val(a[3])); body.append(member(a[0], f'x{a[1]}', a[4:]) + f' = {val(a[2])};')
        elif op == 151: define(a[0], a[1], f'umulx<{ctype(a[0])}>({val(a[2])}, {val(a[3])})')
        elif op == 224: body.append('__syncthreads();')
        elif op == 225: body.append('__threadfence_block();')
        elif op == 227: define(a[0], a[1], f'*(volatile {ctype(a[0])}*)&{val(a[2])}')
        elif op == 228: body.append(f'{val(a[0])} = {val(a[3])};')
        elif op in (234, 236, 237, 238, 239, 240, 241):
            f = {234: 'Add', 236: 'Min', 237: 'Min', 238: 'Max', 239: 'Max', 240: 'And', 241: 'Or'}[op]
            define(a[0], a[1], f'atomic{f}(&{val(a[2])}, {val(a[5])})')
        elif op == 229: define(a[0], a[1], f'atomicExch(&{val(a[2])}, {val(a[5])})')
        elif op in (349, 350): define(a[0], a[1], f'wave_add({val(a[4])})')
        elif op == 345: define(a[0], a[1], f'__shfl_sync(~0u, {val(a[3])}, {val(a[4])})')
        elif op in (346, 348, 347): define(a[0], a[1], f'__shfl_{ {346: "xor", 347: "up", 348: "down"}[op]}_sync(~0u, {val(a[3])}, {val(a[4])})')
        elif op == 337: define(a[0], a[1], f'__shfl_sync(~0u, {val(a[3])}, {val(a[4])})')
        elif op == 338: define(a[0], a[1], f'__shfl_sync(~0u, {val(a[3])}, 0)')
        else: raise NotImplementedError(f'op {op}')
    return '\n'.join([PRELUDE, *structs, *globals_, *heads, *functions, ''])


if __name__ == '__main__':
    print(translate(open(sys.argv[1], 'rb').read()))

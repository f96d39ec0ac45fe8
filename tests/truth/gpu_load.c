/* SPDX-License-Identifier: MIT */
/*
 * Keeps a GPU busy, with nothing but the driver (libcuda.so.1, loaded): gpu_load SECONDS BYTES.
 * Holds BYTES of its memory, and prints "busy" when the first kernel has run.  77: there is no GPU.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Multiplies and adds, for so many rounds; it stores the result, else the assembler leaves it out.
 */
static const char kernel[] = ".version 6.0\n"
                             ".target sm_50\n"
                             ".address_size 64\n"
                             ".visible .entry spin(.param .u32 rounds, .param .u64 result)\n"
                             "{\n"
                             "  .reg .pred %p; .reg .u32 %n; .reg .f32 %f<3>; .reg .u64 %to;\n"
                             "  ld.param.u32 %n, [rounds];\n"
                             "  ld.param.u64 %to, [result];\n"
                             "  mov.f32 %f1, 0f3F800000;\n"
                             "  mov.f32 %f2, 0f3F800001;\n"
                             "again:\n"
                             "  fma.rn.f32 %f1, %f1, %f2, %f2;\n"
                             "  sub.u32 %n, %n, 1;\n"
                             "  setp.ne.u32 %p, %n, 0;\n"
                             "  @%p bra again;\n"
                             "  st.global.f32 [%to], %f1;\n"
                             "  ret;\n"
                             "}\n";

struct driver {
    int (*init)(unsigned);
    int (*device)(int *, int);
    int (*context)(void **, unsigned, int);
    int (*load)(void **, const void *);
    int (*function)(void **, void *, const char *);
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                  void *, void **, void **);
    int (*wait)(void);
    int (*alloc)(unsigned long long *, size_t);
};

static void *library;

static void look_up(void *member, const char *name)
{
    void *symbol = dlsym(library, name);
    if (symbol == NULL) {
        (void)fprintf(stderr, "skipped: libcuda lacks %s\n", name);
        exit(77);
    }
    memcpy(member, &symbol, sizeof symbol);
}

static void must(int code, const char *what)
{
    if (code != 0) {
        (void)fprintf(stderr, "skipped: CUDA: %s gives %d\n", what, code);
        exit(77);
    }
}

static double now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
    struct driver cuda;
    void *context, *module, *function;
    unsigned long long memory;
    int device;
    unsigned rounds = 1U << 22;
    void *arguments[] = {&rounds, &memory};
    library = dlopen("libcuda.so.1", RTLD_NOW);
    if (argc != 3 || library == NULL) {
        (void)fprintf(stderr, "skipped: there is no libcuda.so.1\n");
        return 77;
    }
    look_up(&cuda.init, "cuInit");
    look_up(&cuda.device, "cuDeviceGet");
    look_up(&cuda.context, "cuCtxCreate_v2");
    look_up(&cuda.load, "cuModuleLoadData");
    look_up(&cuda.function, "cuModuleGetFunction");
    look_up(&cuda.launch, "cuLaunchKernel");
    look_up(&cuda.wait, "cuCtxSynchronize");
    look_up(&cuda.alloc, "cuMemAlloc_v2");
    must(cuda.init(0), "cuInit");
    must(cuda.device(&device, 0), "cuDeviceGet");
    must(cuda.context(&context, 0, device), "cuCtxCreate");
    must(cuda.load(&module, kernel), "cuModuleLoadData");
    must(cuda.function(&function, module, "spin"), "cuModuleGetFunction");
    must(cuda.alloc(&memory, (size_t)strtoull(argv[2], NULL, 10)), "cuMemAlloc");
    double end = now() + strtod(argv[1], NULL);
    for (int first = 1; first || now() < end; first = 0) {
        must(cuda.launch(function, 1024, 1, 1, 256, 1, 1, 0, NULL, arguments, NULL), "the kernel");
        must(cuda.wait(), "the kernel's end");
        if (first) {
            (void)puts("busy");
            (void)fflush(stdout);
        }
    }
    return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * Owns the GNU extensions that libresmon uses throughout, behind one name each; those of one place
 * stand there.
 * Called by every layer; calls nothing.
 */
#ifndef RM_BASE_COMPILER_H
#define RM_BASE_COMPILER_H

#define RM_LIKELY(x)        __builtin_expect(!!(x), 1)
#define RM_UNLIKELY(x)      __builtin_expect(!!(x), 0)
#define RM_PRINTF(fmt, arg) __attribute__((format(printf, fmt, arg)))
#define RM_MUST_CHECK       __attribute__((warn_unused_result))
#define RM_COLD             __attribute__((cold, noinline))
#define RM_NOINLINE         __attribute__((noinline))
#define RM_WEAK             __attribute__((weak))

/* Of the recorder, and used by the reader: libresmon.so exports it with a version of its own
 * (lib/resmon.map.in), which is no promise to anybody else. */
#define RM_SHARED __attribute__((visibility("default")))

/* Initial-exec: one load relative to the thread pointer.  The variables are small enough for the
 * static surplus that the loader keeps for libraries opened late. */
#define RM_THREAD_LOCAL _Thread_local __attribute__((tls_model("initial-exec")))

/* "Not read": a double, where the C library's NAN is a float. */
#define RM_NAN __builtin_nan("")

#define RM_ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* Relaxed single-writer access to a field that another thread may read.  `double` fields are
 * accessed as a whole too: both are plain moves on every supported CPU. */
#define RM_LOAD(p)             __atomic_load_n((p), __ATOMIC_RELAXED)
#define RM_STORE(p, v)         __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define RM_FETCH_ADD(p, v)     __atomic_fetch_add((p), (v), __ATOMIC_RELAXED)
#define RM_LOAD_ACQUIRE(p)     __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define RM_STORE_RELEASE(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)

/* For records of two copies, of which a version says, by a release store, which one is current.
 * Stands before the other is filled again: who sees a word of the new filling then sees the version
 * that freed it, too. */
#define RM_FENCE_BEFORE_REFILL() __atomic_thread_fence(__ATOMIC_RELEASE)

#endif

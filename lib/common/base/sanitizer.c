/* SPDX-License-Identifier: MIT */
#include "base/sanitizer.h"

#include <stddef.h>

#include "base/compiler.h"

#if defined(__SANITIZE_ADDRESS__)
#define HAS_ADDRESS_SANITIZER 1
#elif defined(__SANITIZE_THREAD__)
#define HAS_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ADDRESS_SANITIZER 1
#elif __has_feature(thread_sanitizer)
#define HAS_THREAD_SANITIZER 1
#endif
#endif

/* Of the sanitizers' run-time libraries; NULL without these. */
extern void __asan_init(void) RM_WEAK; // NOLINT(bugprone-reserved-identifier,cert-dcl37-c)
extern void __tsan_init(void) RM_WEAK; // NOLINT(bugprone-reserved-identifier,cert-dcl37-c)
extern void AnnotateIgnoreReadsBegin(const char *file, int line) RM_WEAK;
extern void AnnotateIgnoreReadsEnd(const char *file, int line) RM_WEAK;
extern void AnnotateIgnoreWritesBegin(const char *file, int line) RM_WEAK;
extern void AnnotateIgnoreWritesEnd(const char *file, int line) RM_WEAK;

bool rm_sanitizer_is_here(void)
{
#if defined(HAS_ADDRESS_SANITIZER) || defined(HAS_THREAD_SANITIZER)
    return true;
#else
    return __asan_init != NULL || __tsan_init != NULL;
#endif
}

static bool is_blind(void)
{
#if defined(HAS_THREAD_SANITIZER)
    return false; /* it sees all, and shall */
#else
    return __tsan_init != NULL && AnnotateIgnoreReadsBegin != NULL &&
           AnnotateIgnoreReadsEnd != NULL && AnnotateIgnoreWritesBegin != NULL &&
           AnnotateIgnoreWritesEnd != NULL;
#endif
}

void rm_sanitizer_look_away(void)
{
    if (is_blind()) {
        AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
        AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
    }
}

void rm_sanitizer_look_again(void)
{
    if (is_blind()) {
        AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
        AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
    }
}

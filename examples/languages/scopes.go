// SPDX-License-Identifier: MIT

// The phases of a program in Go:
//
//	CGO_LDFLAGS=-lresmon go build scopes.go && ./scopes && resmon report run.json
//
// A goroutine may move to another thread, and scopes belong to threads: a scope locks its goroutine
// to the thread until it ends.  Programs in Go end without exit(3), at which RESMON=json=FILE would
// write its file; so this one stops a monitor of its own.
package main

/*
#include <stdlib.h>
#include <resmon/resmon.h>
*/
import "C"

import (
	"fmt"
	"log"
	"math"
	"runtime"
	"unsafe"
)

// Scope begins a scope; the function that it returns ends it: defer Scope("solve")()
func Scope(name string) func() {
	runtime.LockOSThread()
	scope := C.resmon_scope_begin_named((*C.char)(unsafe.Pointer(unsafe.StringData(name))), C.uint64_t(len(name)))
	return func() {
		C.resmon_scope_end(scope)
		runtime.UnlockOSThread()
	}
}

// Monitor observes the process with options as in RESMON; the function that it returns stops it.
func Monitor(options string) func() {
	runtime.LockOSThread() // the last error is the thread's
	defer runtime.UnlockOSThread()
	text := C.CString(options)
	defer C.free(unsafe.Pointer(text))
	var monitor *C.resmon_monitor
	if C.resmon_monitor_new_text(text, &monitor) != C.RESMON_OK || C.resmon_monitor_start(monitor) != C.RESMON_OK {
		log.Fatal(C.GoString(C.resmon_last_error()))
	}
	return func() {
		if C.resmon_monitor_stop(monitor) != C.RESMON_OK {
			log.Print(C.GoString(C.resmon_last_error()))
		}
		C.resmon_monitor_free(monitor)
	}
}

func step(x float64) float64 {
	defer Scope("step")()
	for i := 0; i < 1000000; i++ {
		x = math.Cos(x)
	}
	return x
}

func solve() float64 {
	defer Scope("solve")()
	x := 1.0
	for i := 0; i < 3; i++ {
		x = step(x)
	}
	return x
}

func main() {
	defer Monitor("json=run.json")()
	fmt.Printf("%.6f\n", solve())
}

// SPDX-License-Identifier: MIT
// The phases of a program in Rust:
//
//     rustc -O scopes.rs -l resmon && RESMON=json=run.json ./scopes && resmon report run.json
use std::os::raw::c_char;

extern "C" {
    fn resmon_scope_begin_named(name: *const c_char, length: u64) -> u64;
    fn resmon_scope_end(scope: u64);
    fn resmon_scope_fail(scope: u64);
}

/// A scope until it is dropped; a panic marks it as failed.
pub struct Scope(u64);

impl Scope {
    #[must_use]
    pub fn new(name: &str) -> Scope {
        Scope(unsafe { resmon_scope_begin_named(name.as_ptr().cast(), name.len() as u64) })
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        if self.0 == 0 {
            return; // nothing is measured
        }
        unsafe {
            if std::thread::panicking() {
                resmon_scope_fail(self.0);
            }
            resmon_scope_end(self.0);
        }
    }
}

fn step(mut x: f64) -> f64 {
    let _scope = Scope::new("step");
    for _ in 0..1_000_000 {
        x = x.cos();
    }
    x
}

fn main() {
    let mut x = 1.0;
    {
        let _scope = Scope::new("solve");
        for _ in 0..3 {
            x = step(x);
        }
    }
    println!("{x:.6}");
}

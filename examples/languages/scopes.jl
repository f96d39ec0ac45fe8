# SPDX-License-Identifier: MIT
# The phases of a program in Julia:
#
#     RESMON=json=run.json LD_PRELOAD=libresmon.so.0 julia scopes.jl && resmon report run.json
#
# A task may move to another thread, and scopes belong to threads: use it in tasks that stay on theirs
# (Threads.@threads :static, or one thread).
const libresmon = "libresmon.so.0"

function scope(f, name::String)
    number = ccall((:resmon_scope_begin_named, libresmon), UInt64, (Cstring, UInt64), name, sizeof(name))
    try
        f()
    catch
        ccall((:resmon_scope_fail, libresmon), Cvoid, (UInt64,), number)
        rethrow()
    finally
        ccall((:resmon_scope_end, libresmon), Cvoid, (UInt64,), number)
    end
end

step(x) = scope("step") do
    for _ in 1:1_000_000
        x = cos(x)
    end
    x
end

x = 1.0
scope("solve") do
    for _ in 1:3
        global x = step(x)
    end
end
println(round(x, digits = 6))

! SPDX-License-Identifier: MIT
! What the module resmon promises: scopes end with their block, also in arrays; assignments end nothing twice; handles,
! failures, errors.
program bindings
  use resmon
  use, intrinsic :: iso_c_binding, only: c_int64_t
  implicit none
  type(resmon_monitor) :: monitor, other
  character(len=:), allocatable :: text
  integer :: status

  call resmon_monitor_start(monitor, "no_such_key=1", status)
  text = resmon_last_error()
  if (status == 0 .or. index(text, "no_such_key") == 0) error stop "a wrong option is not refused"
  call resmon_monitor_start(monitor, "interval=1h")
  other = monitor
  call use_scopes()
  call resmon_monitor_tag(monitor, "tag", status)
  if (status /= 0) error stop "no tag"
  call resmon_monitor_stop(monitor)
  call resmon_monitor_save(monitor, "bindings.json", status)
  if (status /= 0) error stop "not saved"
  call resmon_monitor_save(monitor, "absent/bindings.json", status)
  if (status == 0) error stop "saved to a directory that is not there"
contains
  subroutine use_scopes()
    integer(c_int64_t) :: here
    block
      type(resmon_scope) :: several(2), one, copy
      call resmon_scope_begin(several(1), "outer  ")
      here = resmon_scope_here()
      call resmon_scope_begin(several(2), "inner")
      copy = several(2)
      call resmon_scope_end(several(2))
      call resmon_scope_begin(one, "failing")
      call resmon_scope_fail(one)
      call resmon_scope_begin(one, "again") ! ends "failing"
    end block
    block
      type(resmon_scope) :: s
      call resmon_scope_begin(s, "after")
    end block
    block
      type(resmon_scope) :: s
      call resmon_scope_begin(s, "below", here)
    end block
  end subroutine use_scopes
end program bindings

! SPDX-License-Identifier: MIT
! The phases of a program in Fortran:
!
!     gfortran resmon.f90 scopes.f90 -lresmon -o scopes && ./scopes && resmon report run.json
program scopes
  use resmon
  implicit none
  type(resmon_monitor) :: monitor
  real(8) :: x
  integer :: i

  call resmon_monitor_start(monitor, "json=run.json")
  x = 1
  block
    type(resmon_scope) :: s
    call resmon_scope_begin(s, "solve")
    do i = 1, 3
      x = step(x)
    end do
  end block
  call resmon_monitor_stop(monitor)
  print '(f8.6)', x
contains
  real(8) function step(from)
    real(8), intent(in) :: from
    type(resmon_scope) :: s
    integer :: k
    call resmon_scope_begin(s, "step")
    step = from
    do k = 1, 1000000
      step = cos(step)
    end do
  end function step
end program scopes

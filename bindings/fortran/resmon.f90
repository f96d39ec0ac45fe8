! SPDX-License-Identifier: MIT
!
! libresmon for Fortran 2003 and later: compile this file with your program, and link with -lresmon.
!
!     use resmon
!     block
!       type(resmon_scope) :: s
!       call resmon_scope_begin(s, "solve")
!       ...
!     end block                            ! ends the scope; or: call resmon_scope_end(s)
!
! A scope ends with the block or procedure that declares it (its finalization), or earlier by
! resmon_scope_end.  Scopes are those of <resmon/scope.h>: without a monitor they take some
! nanoseconds, and each thread has its own.  The environment variable RESMON observes a program
! without a monitor in its code: RESMON=json=run.json ./program
!
! Each procedure with `status` sets it to 0, or to a negative code (<resmon/status.h>); without it, a
! failure is written to the standard error output, and the program goes on.
module resmon
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: error_unit
  implicit none
  private
  public :: resmon_scope, resmon_scope_begin, resmon_scope_end, resmon_scope_fail, resmon_scope_here
  public :: resmon_monitor, resmon_monitor_start, resmon_monitor_stop, resmon_monitor_tag, resmon_monitor_save
  public :: resmon_last_error

  type :: resmon_scope
    private
    integer(c_int64_t) :: number = 0
  contains
    procedure, private :: keep_scope
    generic :: assignment(=) => keep_scope
    final :: finish_scope
  end type resmon_scope

  ! It observes this process until it is stopped, or until its variable ceases to exist.
  type :: resmon_monitor
    private
    type(c_ptr) :: monitor = c_null_ptr
  contains
    procedure, private :: keep_monitor
    generic :: assignment(=) => keep_monitor
    final :: finish_monitor
  end type resmon_monitor

  ! call resmon_scope_begin(scope, name [, under]): a scope that is open ends first.  `under`: a handle
  ! of resmon_scope_here(), of this or another thread.
  interface
    function c_begin_named(name, length) bind(c, name="resmon_scope_begin_named")
      import :: c_int64_t, c_char
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int64_t), value :: length
      integer(c_int64_t) :: c_begin_named
    end function c_begin_named
    function c_begin_under(site, under, flags) bind(c, name="resmon_scope_begin_under")
      import :: c_int64_t, c_ptr
      type(c_ptr), value :: site
      integer(c_int64_t), value :: under, flags
      integer(c_int64_t) :: c_begin_under
    end function c_begin_under
    function c_site_intern(name, site) bind(c, name="resmon_site_intern")
      import :: c_char, c_int, c_ptr
      character(kind=c_char), intent(in) :: name(*)
      type(c_ptr), intent(out) :: site
      integer(c_int) :: c_site_intern
    end function c_site_intern
    subroutine c_end(scope) bind(c, name="resmon_scope_end")
      import :: c_int64_t
      integer(c_int64_t), value :: scope
    end subroutine c_end
    subroutine c_fail(scope) bind(c, name="resmon_scope_fail")
      import :: c_int64_t
      integer(c_int64_t), value :: scope
    end subroutine c_fail
    function c_here() bind(c, name="resmon_scope_here")
      import :: c_int64_t
      integer(c_int64_t) :: c_here
    end function c_here
    function c_new(options, monitor) bind(c, name="resmon_monitor_new_text")
      import :: c_char, c_int, c_ptr
      character(kind=c_char), intent(in) :: options(*)
      type(c_ptr), intent(out) :: monitor
      integer(c_int) :: c_new
    end function c_new
    function c_start(monitor) bind(c, name="resmon_monitor_start")
      import :: c_int, c_ptr
      type(c_ptr), value :: monitor
      integer(c_int) :: c_start
    end function c_start
    function c_stop(monitor) bind(c, name="resmon_monitor_stop")
      import :: c_int, c_ptr
      type(c_ptr), value :: monitor
      integer(c_int) :: c_stop
    end function c_stop
    subroutine c_free(monitor) bind(c, name="resmon_monitor_free")
      import :: c_ptr
      type(c_ptr), value :: monitor
    end subroutine c_free
    function c_tag(monitor, label) bind(c, name="resmon_monitor_tag")
      import :: c_char, c_int, c_ptr
      type(c_ptr), value :: monitor
      character(kind=c_char), intent(in) :: label(*)
      integer(c_int) :: c_tag
    end function c_tag
    function c_save(monitor, path) bind(c, name="resmon_monitor_save")
      import :: c_char, c_int, c_ptr
      type(c_ptr), value :: monitor
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int) :: c_save
    end function c_save
    function c_last_error() bind(c, name="resmon_last_error")
      import :: c_ptr
      type(c_ptr) :: c_last_error
    end function c_last_error
    function c_length(text) bind(c, name="strlen")
      import :: c_ptr, c_size_t
      type(c_ptr), value :: text
      integer(c_size_t) :: c_length
    end function c_length
  end interface

contains

  ! ---- scopes ---------------------------------------------------------------------------------------

  subroutine resmon_scope_begin(scope, name, under)
    type(resmon_scope), intent(inout) :: scope
    character(len=*), intent(in) :: name
    integer(c_int64_t), intent(in), optional :: under
    type(c_ptr) :: site
    if (scope%number /= 0) call c_end(scope%number)
    if (.not. present(under)) then
      scope%number = c_begin_named(name, int(len_trim(name), c_int64_t))
    else if (c_site_intern(trim(name) // c_null_char, site) == 0) then
      scope%number = c_begin_under(site, under, 0_c_int64_t)
    else
      scope%number = 0
    end if
  end subroutine resmon_scope_begin

  subroutine resmon_scope_end(scope)
    type(resmon_scope), intent(inout) :: scope
    if (scope%number /= 0) call c_end(scope%number)
    scope%number = 0
  end subroutine resmon_scope_end

  ! Marks it as failed, before its end.
  subroutine resmon_scope_fail(scope)
    type(resmon_scope), intent(in) :: scope
    call c_fail(scope%number)
  end subroutine resmon_scope_fail

  function resmon_scope_here() result(handle)
    integer(c_int64_t) :: handle
    handle = c_here()
  end function resmon_scope_here

  impure elemental subroutine finish_scope(scope)
    type(resmon_scope), intent(inout) :: scope
    if (scope%number /= 0) call c_end(scope%number)
    scope%number = 0
  end subroutine finish_scope

  ! An assignment changes nothing: a scope has one variable, which ends it once.
  impure elemental subroutine keep_scope(scope, other)
    class(resmon_scope), intent(inout) :: scope
    type(resmon_scope), intent(in) :: other
    scope%number = scope%number + 0 * other%number
  end subroutine keep_scope

  ! ---- monitors -------------------------------------------------------------------------------------

  ! Options are those of the variable RESMON: "json=run.json,scopes=all".
  subroutine resmon_monitor_start(monitor, options, status)
    type(resmon_monitor), intent(inout) :: monitor
    character(len=*), intent(in), optional :: options
    integer, intent(out), optional :: status
    integer(c_int) :: found
    call finish_monitor(monitor)
    if (present(options)) then
      found = c_new(trim(options) // c_null_char, monitor%monitor)
    else
      found = c_new(c_null_char, monitor%monitor)
    end if
    if (found == 0) found = c_start(monitor%monitor)
    call tell(found, status)
    if (found /= 0) call finish_monitor(monitor)
  end subroutine resmon_monitor_start

  subroutine resmon_monitor_stop(monitor, status)
    type(resmon_monitor), intent(inout) :: monitor
    integer, intent(out), optional :: status
    call tell(c_stop(monitor%monitor), status)
  end subroutine resmon_monitor_stop

  subroutine resmon_monitor_tag(monitor, label, status)
    type(resmon_monitor), intent(in) :: monitor
    character(len=*), intent(in) :: label
    integer, intent(out), optional :: status
    call tell(c_tag(monitor%monitor, trim(label) // c_null_char), status)
  end subroutine resmon_monitor_tag

  ! As a run document.
  subroutine resmon_monitor_save(monitor, path, status)
    type(resmon_monitor), intent(in) :: monitor
    character(len=*), intent(in) :: path
    integer, intent(out), optional :: status
    call tell(c_save(monitor%monitor, trim(path) // c_null_char), status)
  end subroutine resmon_monitor_save

  impure elemental subroutine finish_monitor(monitor)
    type(resmon_monitor), intent(inout) :: monitor
    if (c_associated(monitor%monitor)) call c_free(monitor%monitor)
    monitor%monitor = c_null_ptr
  end subroutine finish_monitor

  ! As of scopes.
  impure elemental subroutine keep_monitor(monitor, other)
    class(resmon_monitor), intent(inout) :: monitor
    type(resmon_monitor), intent(in) :: other
    if (.false. .and. c_associated(other%monitor)) monitor%monitor = c_null_ptr
  end subroutine keep_monitor

  ! ---- errors ---------------------------------------------------------------------------------------

  ! What the last failure in this thread was.
  function resmon_last_error() result(text)
    character(len=:), allocatable :: text
    character(kind=c_char), pointer :: bytes(:)
    type(c_ptr) :: found
    integer :: i
    found = c_last_error()
    call c_f_pointer(found, bytes, [c_length(found)])
    allocate (character(len=size(bytes)) :: text)
    do i = 1, size(bytes)
      text(i:i) = bytes(i)
    end do
  end function resmon_last_error

  subroutine tell(found, status)
    integer(c_int), intent(in) :: found
    integer, intent(out), optional :: status
    if (present(status)) then
      status = int(found)
    else if (found /= 0) then
      write (error_unit, '(a)') 'resmon: ' // resmon_last_error()
    end if
  end subroutine tell
end module resmon

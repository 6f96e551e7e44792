package kit

import (
	"fmt"
	"os"
	"syscall"
	"time"
	"unsafe"
)

const (
	clockMonotonic = 1
	timerFlags     = syscall.O_NONBLOCK | syscall.O_CLOEXEC // those of timerfd_create have the same values
)

// alarm keeps the pauses of one user to microseconds. It is a timer of the kernel's that is read like a file: the
// runtime's own wait in whole milliseconds, rounded up, when nothing else is to be done.
type alarm struct {
	file *os.File
	raw  syscall.RawConn
}

// itimerspec is the kernel's: when a timer goes off again, and when first. Zero is never.
type itimerspec struct {
	again, first syscall.Timespec
}

func newAlarm() (*alarm, error) {
	descriptor, _, failed := syscall.Syscall(syscall.SYS_TIMERFD_CREATE, clockMonotonic, timerFlags, 0)
	if failed != 0 {
		return nil, fmt.Errorf("cannot make a timer for each user: %w; fewer users, or a higher `ulimit -n`", failed)
	}
	file := os.NewFile(descriptor, "alarm")
	raw, err := file.SyscallConn()
	return &alarm{file: file, raw: raw}, err
}

// wait waits as long, never less, unless the alarm is closed meanwhile.
func (a *alarm) wait(pause time.Duration) {
	if pause <= 0 {
		return
	}
	setting := itimerspec{first: syscall.NsecToTimespec(pause.Nanoseconds())}
	set := func(descriptor uintptr) {
		_, _, _ = syscall.Syscall6(
			syscall.SYS_TIMERFD_SETTIME, descriptor, 0, uintptr(unsafe.Pointer(&setting)), 0, 0, 0)
	}
	if a.raw.Control(set) != nil {
		return // it is closed
	}
	var times [8]byte
	_, _ = a.file.Read(times[:]) // an error is its end
}

// close ends the pause under way, and those to come.
func (a *alarm) close() { _ = a.file.Close() }

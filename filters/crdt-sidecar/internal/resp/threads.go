package resp

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"
	"unsafe"
)

// mostThreads is how many connections may each have a thread of their own; further ones share the runtime's poller.
const mostThreads = 256

// stream is a connection, however it waits.
type stream interface {
	io.ReadWriteCloser
	SetReadDeadline(time.Time) error
	SetWriteDeadline(time.Time) error
}

// threaded is a connection whose thread sleeps in read(2).
//
// The kernel then wakes the very thread that answers. By way of the poller a sleeping one has to be woken, to look who has
// something to read and to start that goroutine, which on a machine with little to do takes longer than the answer.
type threaded struct{ *os.File }

// inThread takes a connection out of the runtime's poller.
func inThread(conn net.Conn) (stream, error) {
	raw, err := conn.(syscall.Conn).SyscallConn()
	if err != nil {
		return nil, err
	}
	var own int
	var failed error
	err = raw.Control(func(fd uintptr) { own, failed = blockingCopy(int(fd)) })
	if err == nil {
		err = failed
	}
	if err != nil {
		return nil, err
	}
	_ = conn.Close() // the copy stays open; the poller forgets the connection
	return &threaded{os.NewFile(uintptr(own), "connection")}, nil
}

func blockingCopy(fd int) (int, error) {
	own, err := syscall.Dup(fd)
	if err != nil {
		return 0, err
	}
	syscall.CloseOnExec(own)
	timeout := syscall.NsecToTimeval(int64(writeTimeout))
	if err = syscall.SetsockoptTimeval(own, syscall.SOL_SOCKET, syscall.SO_SNDTIMEO, &timeout); err == nil {
		err = syscall.SetNonblock(own, false)
	}
	if err != nil {
		_ = syscall.Close(own)
	}
	return own, err
}

// SetReadDeadline has the next read end then at the latest; a zero time means never. The socket keeps a length of time, so the
// moment has to be set again before each read.
func (t *threaded) SetReadDeadline(until time.Time) error {
	var left time.Duration
	if !until.IsZero() {
		if left = time.Until(until); left <= 0 {
			return os.ErrDeadlineExceeded
		}
	}
	raw, err := t.SyscallConn()
	if err != nil {
		return err
	}
	timeout := syscall.NsecToTimeval(int64(max(left, 0)))
	if left > 0 && left < time.Microsecond {
		timeout.Usec = 1 // no time at all would mean never
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		failed = syscall.SetsockoptTimeval(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVTIMEO, &timeout)
	})
	return errors.Join(err, failed)
}

// SetWriteDeadline does nothing: the socket itself gives up on a peer that does not read.
func (t *threaded) SetWriteDeadline(time.Time) error { return nil }

// Close also wakes a thread that waits for bytes, which closing a file alone does not.
func (t *threaded) Close() error {
	if raw, err := t.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _ = syscall.Shutdown(int(fd), syscall.SHUT_RDWR) })
	}
	return t.File.Close()
}

// watch returns what says whether the other side of a connection has closed it. The client has then given up, as a load
// balancer does whose sidecar was held up: its request was answered in another way, and must not be counted.
func watch(conn stream) (isGone func() bool) {
	asks, ok := conn.(syscall.Conn)
	if !ok {
		return func() bool { return false }
	}
	raw, err := asks.SyscallConn()
	if err != nil {
		return func() bool { return false }
	}
	var next [1]byte
	return func() (gone bool) {
		_ = raw.Control(func(fd uintptr) {
			n, _, errno := syscall.Syscall6(syscall.SYS_RECVFROM, fd, uintptr(unsafe.Pointer(&next[0])), 1,
				syscall.MSG_PEEK|syscall.MSG_DONTWAIT, 0, 0)
			gone = n == 0 && errno == 0 || errno == syscall.ECONNRESET
		})
		return gone
	}
}

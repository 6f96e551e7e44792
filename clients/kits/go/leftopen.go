package kit

import (
	"crypto/tls"
	"net"
	"syscall"
)

// leftOpen says whether nothing has come in on an idle connection: neither its end, nor bytes that no one asked for.
//
// A server may close a connection between two attempts. The next attempt then needs a new connection, and isn't a
// failure.
func leftOpen(conn net.Conn) bool {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	raw, err := conn.(syscall.Conn).SyscallConn()
	if err != nil {
		return false
	}
	var silence error
	err = raw.Read(func(descriptor uintptr) bool {
		_, _, silence = syscall.Recvfrom(int(descriptor), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		return true
	})
	return err == nil && silence == syscall.EAGAIN
}

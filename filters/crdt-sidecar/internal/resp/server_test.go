package resp

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

func TestAClientThatDoesNotReadIsLetGo(t *testing.T) {
	usual := writeTimeout
	writeTimeout = 200 * time.Millisecond
	defer func() { writeTimeout = usual }()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	much := strings.Repeat("x", 1<<20)
	server := Serve(listener, 10, func(out []byte, _ [][]byte) ([]byte, bool) { return AppendBulk(out, much), false })
	defer server.Close()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, strings.Repeat("*1\r\n$4\r\nPING\r\n", 100)); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(10 * time.Second)
	for accepted := false; !accepted || server.Connections() > 0; time.Sleep(10 * time.Millisecond) {
		accepted = accepted || server.Connections() > 0
		if time.Now().After(deadline) {
			t.Fatal("still there")
		}
	}
}

func TestClosingAConnectionWakesTheThreadThatReadsFromIt(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	peer, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = peer.Close() }()
	accepted, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := inThread(accepted)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := conn.Read(make([]byte, 1))
		ended <- err
	}()
	time.Sleep(50 * time.Millisecond) // the thread is in read(2) by then; if it is not, it ends all the same
	go func() { _ = conn.Close() }()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Fatal("the thread still waits for bytes")
	}
}
